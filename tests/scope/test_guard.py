"""One path, one command: yes or no. No link, no `..` and no shell trick leads out of a scope."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from segue.formats.scope import Scope
from segue.scope import Guard

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "home").mkdir()
    return root


def guard_of(
    project: Path,
    *,
    read: tuple[str, ...] = (),
    write: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    shell_allow: tuple[str, ...] = (),
    shell_deny: tuple[str, ...] = (),
) -> Guard:
    scope = Scope(read=read, write=write, deny=deny, shell_allow=shell_allow, shell_deny=shell_deny)
    return Guard(scope, project_root=str(project), home=str(project.parent / "home"))


@pytest.mark.parametrize("path", ["src/a.py", "./src//a.py", "src/", "src", "new/file", ".", "src/../src/a.py"])
def test_what_a_pattern_allows_is_allowed_however_it_is_spelt(project: Path, path: str) -> None:
    guard = guard_of(project, read=("**",), write=("${project_root}/**",))
    for spelt in (path, f"{project}/{path}"):
        assert guard.read(spelt).allowed
        assert guard.write(spelt).pattern == "${project_root}/**"


def test_whatever_no_pattern_allows_is_denied(project: Path) -> None:
    verdict = guard_of(project).read("src/a.py")
    assert (verdict.allowed, verdict.reason, verdict.pattern) == (False, "no pattern allows reading it", "")


def test_reading_allows_no_writing_and_writing_no_reading(project: Path) -> None:
    guard = guard_of(project, read=("a",), write=("b",))
    assert [guard.read("a").allowed, guard.write("a").allowed] == [True, False]
    assert [guard.read("b").allowed, guard.write("b").allowed] == [False, True]


def test_deny_wins_and_says_which_pattern(project: Path) -> None:
    guard = guard_of(project, read=("src/a.py", "**"), write=("**",), deny=("src",))
    for verdict in (guard.read("src/a.py"), guard.write("src/new/x")):
        assert (verdict.allowed, verdict.is_final, verdict.pattern) == (False, True, "src")
        assert verdict.reason == "denied by 'src'"


@pytest.mark.parametrize("path", ["../secret", "src/../../secret", "~/../secret", "", "a\0b"])
def test_no_spelling_leads_out(project: Path, path: str) -> None:
    guard = guard_of(project, read=("**", "~/**"), write=("**", "~/**"))
    assert not guard.read(path).allowed
    assert not guard.write(path).allowed


def test_a_link_does_not_lead_out(project: Path) -> None:
    (project / "link").symlink_to("../secret")
    (project / "folder").symlink_to("..")
    (project / "dangling").symlink_to("../not-there")
    (project / "hop").symlink_to("link")
    guard = guard_of(project, read=("**",), write=("**",))
    for path in ("link", "folder/secret", "folder/new", "dangling", "hop", "folder", "src/../link"):
        assert not guard.read(path).allowed
        assert not guard.write(path).allowed
    assert guard.read("link").reason == f"it leads to {project.parent}/secret, and no pattern allows reading that"


def test_dots_behind_a_link_are_followed_as_the_system_follows_them(project: Path) -> None:
    (project.parent / "deep" / "er").mkdir(parents=True)
    (project / "src" / "link").symlink_to("../../deep/er")
    # Spelt, this is src/x; for the system it is deep/x, outside of the project.
    assert not guard_of(project, write=("**",)).write("src/link/../x").allowed


def test_a_link_inside_the_scope_is_followed(project: Path) -> None:
    (project / "alias").symlink_to("src")
    guard = guard_of(project, read=("**",), deny=("src/secret",))
    assert guard.read("alias/a.py").allowed
    assert guard.read("alias/secret").is_final


def test_a_link_cannot_choose_what_is_allowed(project: Path) -> None:
    (project / "out").symlink_to("..")
    assert not guard_of(project, write=("out/**",)).write("out/secret").allowed


def test_what_is_denied_is_denied_by_its_real_name_as_well(project: Path) -> None:
    (project / "keys").symlink_to("../secret")
    verdict = guard_of(project, read=("/**",), deny=("keys",)).read(f"{project.parent}/secret")
    assert (verdict.allowed, verdict.pattern) == (False, "keys")


def test_a_project_that_is_reached_through_a_link_is_the_project(project: Path) -> None:
    (project.parent / "alias").symlink_to("project")
    alias = project.parent / "alias"
    guard = Guard(Scope(read=("**", "~/**")), project_root=str(alias), home=str(alias))
    assert guard.read(f"{alias}/src/a.py").allowed
    assert guard.read(f"{project}/src/a.py").allowed
    assert guard.read("src/a.py").allowed


def test_a_circle_of_links_is_no_way_out(project: Path) -> None:
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")
    assert not guard_of(project, read=("src/**",)).read("a/src").allowed


def test_the_file_system_that_shows_processes_is_no_way_out(project: Path) -> None:
    if os.path.exists("/proc/self/root"):
        assert not guard_of(project, read=("/proc/**",)).read("/proc/self/root/etc/passwd").allowed


def test_relative_paths_are_meant_from_where_the_tool_is(project: Path) -> None:
    guard = guard_of(project, read=("src/**",))
    assert guard.read("a.py", cwd=f"{project}/src").allowed
    assert not guard.read("a.py", cwd=str(project)).allowed
    assert guard.read("~/x", cwd=f"{project}/src").place == f"{project.parent}/home/x"


# ── Searching ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_may_be_searched_if_all_in_it_may_be_read(project: Path) -> None:
    assert guard_of(project, read=("src/**",)).search("src").allowed
    assert not guard_of(project, read=("src", "src/*")).search("src").allowed
    assert not guard_of(project, read=("src/**",)).search(".").allowed
    assert guard_of(project, read=("src/*",)).search("src/a.py").allowed


@pytest.mark.parametrize("deny", ["**/.env", "src/x/y", "src/*.pem", "src"])
def test_a_search_that_may_come_upon_what_is_denied_is_not_allowed(project: Path, deny: str) -> None:
    guard = guard_of(project, read=("**",), deny=(deny, "other/x"))
    assert guard.search("src").pattern == deny


# ── Commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────

ALLOW = ("ls *", "git status", "git log *", "echo *", "sh -c *", "env *", "find *", "cd *", "A=? make *", "tool *.py")
DENY = ("rm", "git push --force", "curl * http:*")


@pytest.fixture
def shell(project: Path) -> Guard:
    return guard_of(project, read=("**",), write=("out/**",), deny=("out/.env",), shell_allow=ALLOW, shell_deny=DENY)


@pytest.mark.parametrize(
    "line",
    [
        *("ls", "ls -la /etc", "git status", "git log --oneline | ls", "ls && git status; echo done", "ls $HOME"),
        *(
            "ls *.py | echo",
            "echo hi > out/x",
            "echo hi 2>/dev/null",
            "ls < src/a.py",
            "sh -c 'ls'",
            "A=1 make all",
        ),
        *("tool a.py", "echo 'rm x'", "ls; echo 'git push --force'", "git log rm", "ls a & echo b"),
    ],
)
def test_a_line_whose_every_part_is_allowed_is_allowed(shell: Guard, line: str) -> None:
    verdict = shell.shell(line)
    assert verdict.allowed, verdict.reason
    assert verdict.pattern


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("git status --short", "no pattern allows 'git status --short'"),
        ("gitx status", "no pattern allows"),
        ("/tmp/evil/ls", "no pattern allows '/tmp/evil/ls'"),
        ("ls; make", "no pattern allows 'make'"),
        ("LD_PRELOAD=x ls", "no pattern allows 'LD_PRELOAD=x ls'"),
        ("A=12 make", "no pattern allows"),
        ("tool a.py b.py", "no pattern allows"),
        ("tool $X", "no pattern allows 'tool …'"),
        ("echo > x", "writing 'x': no pattern allows writing it"),
        ("echo > out/../x", "writing 'out/../x'"),
        ("ls < /etc/passwd", "reading '/etc/passwd'"),
        ("> x", "it is not understood: a redirection without a command"),
        ("ls $(make)", "it is not understood: a substitution at character 4"),
        ("B=1 make", "no pattern allows 'B=1 make'"),
        ("tool *.py", "no pattern allows 'tool …'"),
        ("env $X", "'env …' may be denied by 'rm'"),
        ("sh -c 'make'", "no pattern allows 'make'"),
        ("$X", "it is not understood: which command it runs"),
        ("", "there is no command in it"),
    ],
)
def test_one_part_that_is_not_allowed_denies_the_line(shell: Guard, line: str, reason: str) -> None:
    verdict = shell.shell(line)
    assert not verdict.allowed
    assert not verdict.is_final
    assert verdict.reason.startswith(reason)


@pytest.mark.parametrize(
    "line",
    [
        *("rm x", "rm", "/bin/rm x", "r''m x", "ls; rm x", "ls | rm", "echo $(rm x)", "echo `rm x`", 'echo "$(rm x)"'),
        *("env rm x", "env A=1 /bin/rm x", "find . -exec rm {} \\;", "sh -c 'rm x'", "env sh -c 'ls; rm x'", "A=1 rm"),
        *(
            "git push --force origin",
            "git push $X",
            "git $X",
            "curl -s http://x",
            "curl $X",
            "make; rm x",
            "ls <(rm x)",
        ),
        *(
            "env -S 'rm x'",
            "echo x > out/.env",
            "for f in a; do rm $f; done",
            "{ rm x; }",
            "! rm x",
            "if rm x; then ls; fi",
        ),
    ],
)
def test_a_denied_command_is_found_wherever_it_hides(shell: Guard, line: str) -> None:
    verdict = shell.shell(line)
    assert not verdict.allowed
    assert verdict.is_final
    assert verdict.pattern in {*DENY, "out/.env"}


def test_a_thousand_patterns_say_what_one_would_say(project: Path) -> None:
    many = tuple(f"/data/{number}/**/*.txt" for number in range(1000))
    guard = guard_of(project, read=many, deny=tuple(f"/data/{number}/private" for number in range(1000)))
    assert guard.read("/data/777/a/b/c.txt").pattern == "/data/777/**/*.txt"
    assert guard.read("/data/777/private/c.txt").pattern == "/data/777/private"
    assert not guard.read("/data/1000/c.txt").allowed
