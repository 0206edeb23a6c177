"""One path, one command: yes or no. No link, no `..` and no shell trick leads out of a scope."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from segue.permissions import Guard
from segue.permissions.scope import Scope

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


@pytest.mark.parametrize(
    "path",
    [
        *("/proc/self/cwd/x", "/proc/self/root/etc/passwd", "/proc/thread-self/cwd/x", "/proc/1/root/x", "/proc/self"),
        *("/dev/fd/3", "/dev/stdin", "/dev/stdout", "/proc/../proc/self/cwd/x", "//proc//self/fd/1"),
        *("/proc/self/environ",),
    ],
)
def test_what_is_another_place_for_every_process_is_denied(project: Path, path: str) -> None:
    guard = guard_of(project, read=("/**",), write=("/**",), shell_allow=("ls",))
    for verdict in (guard.read(path), guard.write(path), guard.shell(f"ls > {path}")):
        assert not verdict.allowed
        assert verdict.is_final
        assert "it leads elsewhere in every process" in verdict.reason


def test_no_link_leads_to_what_is_another_place_for_every_process(project: Path) -> None:
    (project / "here").symlink_to("/proc/self/cwd")
    (project / "hop").symlink_to("src/../here/src")
    (project / "fd").symlink_to("/dev/fd")
    guard = guard_of(project, read=("/**",), write=("/**",))
    for path in ("here", "here/src/a.py", "hop/a.py", "fd/1"):
        assert not guard.read(path).allowed
    assert guard.read("/proc/version").allowed
    assert guard.read("src/a.py").allowed


@pytest.mark.parametrize("path", ["", "a\0b", "a\ud800b", "\udfff"])
def test_what_no_file_can_be_called_is_no_path(project: Path, path: str) -> None:
    guard = guard_of(project, read=("/**",), write=("/**",))
    for verdict in (guard.read(path), guard.read("a", cwd=path or "\0")):
        assert (verdict.reason, verdict.is_final) == ("it is not a valid path", True)


def test_relative_paths_are_meant_from_where_the_tool_is(project: Path) -> None:
    guard = guard_of(project, read=("src/**",))
    assert guard.read("a.py", cwd=f"{project}/src").allowed
    assert not guard.read("a.py", cwd=str(project)).allowed
    assert guard.read("~/x", cwd=f"{project}/src").real_path == f"{project.parent}/home/x"


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
        *("ls *.py | echo", "echo hi > out/x", "echo hi 2>/dev/null", "ls < src/a.py", "sh -c 'ls'", "A=1 make all"),
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
        ("> x", "it cannot be analyzed: a redirection without a command"),
        ("ls $(make)", "it cannot be analyzed: a substitution at character 4"),
        ("B=1 make", "no pattern allows 'B=1 make'"),
        ("tool *.py", "no pattern allows 'tool …'"),
        ("env $X", "'env …' may be denied by 'rm'"),
        ("sh -c 'make'", "no pattern allows 'make'"),
        ("$X", "it cannot be analyzed: the command is only known"),
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
        *("git push --force origin", "git push $X", "git $X", "curl -s http://x", "curl $X", "make; rm x"),
        *("ls <(rm x)",),
        *("env -S 'rm x'", "echo x > out/.env", "for f in a; do rm $f; done", "{ rm x; }", "! rm x"),
        *("if rm x; then ls; fi",),
    ],
)
def test_a_denied_command_is_found_wherever_it_hides(shell: Guard, line: str) -> None:
    verdict = shell.shell(line)
    assert not verdict.allowed
    assert verdict.is_final
    assert verdict.pattern in {*DENY, "out/.env"}


@pytest.mark.parametrize(
    "line",
    [
        *("git push", "git push origin", "/usr/bin/git push", "git --no-pager push", "git -C x push"),
        *("git -c a=b push",),
        *("git -c a=b --no-pager -C x --git-dir=y push origin", "git --git-dir y push", "git $X", "GIT push"),
        *("git 'push'",),
        *("env -S 'git push'", "env '-Sgit push'", "env --split-string='git push'", "env -i A=1 git push"),
        *("command git push",),
        *("/usr/bin/time git push", "/usr/bin/time -v git push", "nice -n 5 git push", "timeout 5 git push"),
        *("exec git push",),
        *("busybox sh -c 'git push'", "xargs git push", "sudo -u me git push", "su me -c 'git push'"),
        *("ssh h 'cd x; git push'",),
        *("find . -exec git push \\;", "sh -c 'git push'", "sh -c 'env git -C x push'", "env nohup setsid git push"),
        *("watch 'git push'", "A=1 git push", "flock x -c 'git push'", "sh -c 'ls' git push"),
        *("ls | xargs -I{} git push {}",),
        *("rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -rfv x", "rm -r x -f", "/bin/rm -v -rf x", "rm -r $X"),
        # Not understood, and so denied for the words alone.
        *("$(git push)", "for a in b; do git push; done", "git pu\\\nsh; git push", "(git -C x push)", "`rm -rf x`"),
    ],
)
def test_a_denied_command_is_denied_however_it_is_called(project: Path, line: str) -> None:
    guard = guard_of(project, shell_allow=("*",), shell_deny=("git push", "rm -rf"))
    verdict = guard.shell(line)
    assert (verdict.allowed, verdict.is_final) == (False, True)
    assert verdict.pattern in {"git push", "rm -rf"}


@pytest.mark.parametrize(
    "line",
    [
        *("git status", "git commit -m push", "git stash push", "echo git push", "git log push", "gitx push"),
        *("rm -r x",),
        *("rm x -i", "ls rm -rf", "env ls", "xargs ls", "find . -name '*.py'", "timeout 5 git status"),
        *("sh -c 'git log'",),
    ],
)
def test_what_only_looks_like_a_denied_command_is_not_denied(project: Path, line: str) -> None:
    assert guard_of(project, shell_allow=("*",), shell_deny=("git push", "rm -rf")).shell(line).allowed


@pytest.mark.parametrize("name", ["HOME", "PATH", "GIT_DIR", "GIT_SSH_COMMAND", "LD_PRELOAD", "BASH_ENV", "A"])
def test_a_variable_is_set_only_where_a_pattern_names_it(project: Path, name: str) -> None:
    guard = guard_of(project, shell_allow=("*", "* git status", "*=* git status", "B=? git status"))
    for line in (f"{name}=x git status", f"{name}=x", f"{name}=x; git status", f"B=1 {name}=x git status"):
        assert not guard.shell(line).allowed
    assert guard.shell("B=1 git status").allowed


@pytest.mark.parametrize(
    "line",
    [
        *("$(" * 6000, "(" * 6000, "`" * 6000, "{ " * 6000, "ls " * 400_000, "a" * (1 << 20), "env " * 4999 + "ls"),
        *("sh -c " * 3000, "ls \ud800", "ls \0", "'" * 9999, '"' * 9999, "\\" * 9999, "$" * 9999),
        *("sudo " * 3000 + "rm x",),
    ],
    ids=range(15),
)
def test_no_line_is_too_much_for_the_judge(project: Path, line: str) -> None:
    # What was tried in every way, or one in another, would outlast the time limit of the tests by far.
    patterns = tuple(f"tool-{number} *" for number in range(1000))
    guard = guard_of(project, shell_allow=patterns, shell_deny=("rm", *patterns, "a b c d e", "-x"))
    assert not guard.shell(line).allowed


@pytest.mark.parametrize("error", [RecursionError, MemoryError, KeyError("x"), OSError(5, "I/O")])
def test_whatever_goes_wrong_in_the_judge_means_no(
    project: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    guard = guard_of(project, read=("/**",), write=("/**",), shell_allow=("*",))
    monkeypatch.setattr("segue.permissions.guard.parse_shell", fail)
    monkeypatch.setattr(os.path, "realpath", fail)
    for verdict in (guard.shell("ls"), guard.read("a"), guard.write("a"), guard.search("a")):
        assert (verdict.allowed, verdict.is_final) == (False, True)
        assert verdict.reason.startswith("the check failed: ")


def test_a_thousand_patterns_say_what_one_would_say(project: Path) -> None:
    many = tuple(f"/data/{number}/**/*.txt" for number in range(1000))
    guard = guard_of(project, read=many, deny=tuple(f"/data/{number}/private" for number in range(1000)))
    assert guard.read("/data/777/a/b/c.txt").pattern == "/data/777/**/*.txt"
    assert guard.read("/data/777/private/c.txt").pattern == "/data/777/private"
    assert not guard.read("/data/1000/c.txt").allowed
