"""Nothing that a stranger's repository names is run by what we do in it, with the real git."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from segue.git import Git, command, find_location, find_programs, find_repository, make_repository
from segue.project import project_of
from tests.support.hostile_repository import Stranger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUICK_REPOSITORIES = 12
LONG_REPOSITORIES = 400
OURS = "conversations/2026-01-05/001-plan-x"


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    (tmp_path / "stranger" / "ran").mkdir(parents=True)
    who = {f"GIT_{role}_{field}": "ada" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", **who}
    return Stranger(tmp_path / "stranger", environ)


def do_everything(root: Path, environ: dict[str, str]) -> str:
    """All that we ever do with git, in one repository; how the commit ended."""
    project_of(root, environ)
    found = find_repository(root / OURS, environ=environ)
    if found is None:
        assert make_repository(root, environ, timeout_seconds=60).code == 0
        found = find_repository(root / OURS, environ=environ)
        assert found is not None
    if found.location is not None:
        find_programs(Git(location=found.location, environ=environ, timeout_seconds=60))
    outcome = found.commit([root / OURS], "ours", needed=[root / OURS / "plan.md"])
    found.commit([root / OURS], "again")
    return outcome.status


def assert_nothing_runs(stranger: Stranger, folder: Path, rng: random.Random, count: int) -> None:
    ended: Counter[str] = Counter()
    for number in range(count):
        root = folder / f"workspace-{number}"
        about = stranger.make(root, rng)
        stranger.forget()  # whoever set the traps may have stepped into one
        ended[do_everything(root, stranger.environ)] += 1
        assert stranger.canaries == [], about
    assert ended["committed"] > 0, "traps that keep us from committing prove little"
    print(f"{count} repositories: {dict(ended)}")  # noqa: T201 - shown by a run with -rP, for docs/guarantees.md


def test_nothing_of_a_strangers_repository_runs(stranger: Stranger, tmp_path: Path, rng: random.Random) -> None:
    assert_nothing_runs(stranger, tmp_path, rng, QUICK_REPOSITORIES)


@pytest.mark.long
def test_nothing_of_many_strangers_repositories_runs(stranger: Stranger, tmp_path: Path, rng: random.Random) -> None:
    assert_nothing_runs(stranger, tmp_path, rng, LONG_REPOSITORIES)


@pytest.mark.parametrize("layout", ["real", "tracked", "file"])
def test_nothing_runs_where_every_trap_is_set_at_once(stranger: Stranger, tmp_path: Path, layout: str) -> None:
    stranger.make(tmp_path / "workspace", random.Random(1), everything=True, layout=layout)
    before = stranger.canaries
    do_everything(tmp_path / "workspace", stranger.environ)
    assert stranger.canaries == before


def test_the_traps_work_on_whoever_calls_git_without_care(stranger: Stranger, tmp_path: Path) -> None:
    """Otherwise no trap that did not spring would prove anything."""
    set_traps = (hooked, watched, filtered, partial)
    for number, set_trap in enumerate(set_traps):
        root = tmp_path / str(number)
        set_trap(stranger, root)
        for words in ("status", "add --all", "commit -qm x", "rev-list --objects HEAD"):
            stranger.git(root, *words.split(), check=False)
    assert len(stranger.canaries) == len(set_traps)
    stranger.make(tmp_path / "tracked", random.Random(1), everything=True, layout="tracked")
    stranger.forget()
    stranger.git(tmp_path / "tracked", "status", check=False)
    assert stranger.canaries


def prepared(stranger: Stranger, root: Path, *settings: str, attributes: str = "") -> Path:
    root.mkdir()
    (root / OURS).mkdir(parents=True)
    stranger.git(root, "init", "-q", "--template=")
    (root / "notes.txt").write_text("one\n", encoding="utf-8")
    (root / OURS / "plan.md").write_text("one\n", encoding="utf-8")
    (root / ".gitattributes").write_text(attributes, encoding="utf-8")
    stranger.git(root, "add", "notes.txt", ".gitattributes")
    stranger.git(root, "commit", "-qm", "first")
    for key in settings:
        stranger.git(root, "config", key, stranger.bait(key))
    return root


def hooked(stranger: Stranger, root: Path) -> None:
    hook = prepared(stranger, root) / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(stranger.bait("hook"))


def watched(stranger: Stranger, root: Path) -> None:
    prepared(stranger, root)
    stranger.git(root, "-c", "core.fsmonitor=/bin/true", "update-index", "--fsmonitor")
    stranger.git(root, "config", "core.fsmonitor", stranger.bait("core.fsmonitor"))


def filtered(stranger: Stranger, root: Path) -> None:
    prepared(stranger, root, "filter.bait.clean", attributes="*.md filter=bait\n")


def racy(stranger: Stranger, root: Path) -> None:
    """A filter of a file that is not ours, which git looks into whenever it writes an index."""
    prepared(stranger, root, attributes="*.txt filter=bait\n")
    at = 1_700_000_000
    os.utime(root / "notes.txt", (at, at))
    stranger.git(root, "update-index", "--refresh")
    os.utime(root / ".git" / "index", (at, at))
    stranger.git(root, "config", "filter.bait.clean", stranger.bait("filter.bait.clean"))


def partial(stranger: Stranger, root: Path) -> None:
    prepared(stranger, root, "core.sshCommand")
    tree = stranger.git(root, "rev-parse", "HEAD^{tree}").strip()
    (root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for key, value in (
        ("remote.origin.url", "ssh://example.org/a"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("protocol.ssh.allow", "always"),
    ):
        stranger.git(root, "config", key, value)


def without(*keys: str) -> tuple[str, ...]:
    """The options that close a repository, but for these."""
    options = list(zip(command._CLOSED[::2], command._CLOSED[1::2], strict=True))
    return tuple(part for option in options if not option[1].startswith(keys) for part in option)


def silent_as_it_is(git: Git) -> Git:
    return git


PLANTED: dict[str, tuple[Callable[[Stranger, Path], object], dict[str, object]]] = {
    "hooks": (hooked, {"segue.git.command._CLOSED": without("core.hooksPath")}),
    "fsmonitor": (watched, {"segue.git.command._CLOSED": without("core.fsmonitor")}),
    "filters": (filtered, {"segue.git.command.Git.with_filters_off": silent_as_it_is}),
    "filters of other files": (racy, {"segue.git.command.Git.with_filters_off": silent_as_it_is}),
    "lazy fetch": (
        partial,
        {"segue.git.command._CLOSED": without("core.sshCommand", "protocol"), "segue.git.command._OFFLINE": {}},
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_each_protection_is_needed(
    stranger: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    set_trap, planted = PLANTED[name]
    set_trap(stranger, tmp_path / "safe")
    set_trap(stranger, tmp_path / "unsafe")
    stranger.forget()
    do_everything(tmp_path / "safe", stranger.environ)
    assert stranger.canaries == []
    for target, value in planted.items():
        monkeypatch.setattr(target, value)
    do_everything(tmp_path / "unsafe", stranger.environ)
    assert len(stranger.canaries) == 1


def test_files_that_look_like_a_repository_are_none(stranger: Stranger, tmp_path: Path) -> None:
    stranger.make(tmp_path / "workspace", random.Random(2), everything=True, layout="tracked")
    assert (tmp_path / "workspace" / "HEAD").exists()
    assert find_location(tmp_path / "workspace") is None
    assert find_repository(tmp_path / "workspace", environ=stranger.environ) is None


def test_an_unpacked_partial_clone_fetches_nothing_when_a_session_begins(stranger: Stranger, tmp_path: Path) -> None:
    """Its remote names a folder that is gone, so that the project is known by the first commit, which is missing."""
    root = prepared(stranger, tmp_path / "project", "core.sshCommand")
    commit = stranger.git(root, "rev-parse", "HEAD").strip()
    for path in ((root / ".git" / "objects" / commit[:2] / commit[2:]), root / ".git" / "logs" / "HEAD"):
        path.unlink()
    stranger.git(root, "config", "remote.a.url", "/nowhere", check=False)
    text = '[remote "origin"]\n\tpromisor = true\n[remote "b"]\n\turl = x::y\n[extensions]\n\tpartialClone = b\n'
    with (root / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write(text)
    assert project_of(root, stranger.environ) == str(root)
    assert stranger.canaries == []


def test_a_file_that_a_filter_would_encrypt_is_not_committed_as_it_is(stranger: Stranger, tmp_path: Path) -> None:
    root = prepared(stranger, tmp_path / "project", "filter.crypt.clean", attributes="*.md filter=crypt\n")
    found = find_repository(root, environ=stranger.environ)
    assert found is not None
    outcome = found.commit([root / OURS], "ours")
    assert outcome.status == "failed"
    assert f"{OURS}/plan.md needs the filter 'crypt'" in outcome.message
    assert stranger.canaries == []


def test_a_filter_with_a_name_that_no_option_can_say_is_refused(stranger: Stranger, tmp_path: Path) -> None:
    root = prepared(stranger, tmp_path / "project", "filter.a=b.clean")
    found = find_repository(root, environ=stranger.environ)
    assert found is not None
    outcome = found.commit([root / OURS], "ours")
    assert "cannot be switched off: b'a=b'" in outcome.message
    assert stranger.canaries == []


def test_that_hooks_did_not_run_is_told(stranger: Stranger, tmp_path: Path) -> None:
    root = prepared(stranger, tmp_path / "project")
    found = find_repository(root, environ=stranger.environ)
    assert found is not None
    assert not found.commit([root / OURS], "ours").hooks_skipped
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(stranger.bait("pre-commit"))
    (root / OURS / "plan.md").write_text("two\n", encoding="utf-8")
    assert found.commit([root / OURS], "ours").hooks_skipped
    assert stranger.canaries == []


def test_a_new_repository_has_no_hooks_of_a_template(stranger: Stranger, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    stranger.make(root, random.Random(3), everything=True, layout="tracked")
    (tmp_path / ".gitconfig").write_text(f"[init]\n\ttemplateDir = {stranger.folder}/template\n", encoding="utf-8")
    environ = stranger.environ | {"GIT_TEMPLATE_DIR": str(stranger.folder / "template")}
    assert make_repository(root, environ, timeout_seconds=60).code == 0
    assert find_location(root) is not None
    assert not (root / ".git" / "hooks").exists()
    assert stranger.canaries == []


def test_a_git_of_the_folder_is_not_taken_for_the_users(stranger: Stranger, tmp_path: Path) -> None:
    root = prepared(stranger, tmp_path / "project")
    (root / "git").symlink_to(stranger.bait("git"))
    environ = stranger.environ | {"PATH": f":.:{stranger.environ['PATH']}"}
    found = find_repository(root, environ=environ)
    assert found is not None
    assert found.commit([root / OURS], "ours").status == "committed"
    assert stranger.canaries == []
