"""What is refused or interrupted: in words, with files, index and history as they were."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.git import find_repository
from tests.support.git_repository import OUR_FILES, Place

if TYPE_CHECKING:
    from segue.git import Repository

SAVED = "saved, but not committed: "

# ── What is refused, in words, with everything as it was ─────────────────────────────────────────────────────────────


def assert_refused(place: Place, *words: str, hint: str, repository: Repository | None = None) -> None:
    """And the files, the index and the history are what they were."""
    head = place.git("rev-parse", "HEAD")
    index, files = place.index(), {path: path.read_bytes() for path in place.ours.rglob("*") if path.is_file()}
    outcome = (repository or place.repository).commit([place.ours], "refused")
    assert outcome.status == "failed"
    assert outcome.commit == ""
    assert outcome.message.startswith(SAVED)
    assert "\n" not in outcome.message
    for word in words:
        assert word in outcome.message
    assert hint in outcome.hint
    assert place.git("rev-parse", "HEAD") == head
    assert place.index() == index
    assert files == {path: path.read_bytes() for path in place.ours.rglob("*") if path.is_file()}


def test_files_that_git_ignores_are_named(place: Place) -> None:
    place.write(".gitignore", "conversations/\n")
    assert_refused(place, "git ignores conversations/", hint=".gitignore")


def test_every_file_ignored_by_itself_is_as_bad(place: Place) -> None:
    place.write(".gitignore", "*.md\n*.json\n")
    assert_refused(place, "git ignores conversations/001-plan/", " and 1 more", hint=".gitignore")


def test_ignored_files_beside_what_git_has_are_no_failure(place: Place) -> None:
    place.write(".gitignore", "*.tmp\n")
    place.commit()
    place.write("conversations/001-plan/a.tmp", "ignored\n")
    assert place.commit().status == "nothing"


def test_a_part_that_git_ignores_is_told_with_the_line_that_does_and_the_rest_committed(place: Place) -> None:
    place.write(".gitignore", "*.tmp\n.session/\n")
    outcome = place.repository.commit([place.ours], "a part", needed=[place.root / name for name in OUR_FILES])
    assert outcome.status == "committed"
    assert place.committed_files() == [OUR_FILES[1]]
    told = f"git ignores {OUR_FILES[0]}, so it is saved but not committed (.gitignore line 2: .session/)"
    assert outcome.warnings == (told,)


def test_a_file_that_is_ignored_and_was_added_all_the_same_goes_on_being_committed(place: Place) -> None:
    place.write(".gitignore", ".session/\n")
    place.git("add", "--force", OUR_FILES[0])
    outcome = place.repository.commit([place.ours], "all", needed=[place.root / OUR_FILES[0]])
    assert (outcome.status, outcome.warnings) == ("committed", ())
    assert place.committed_files() == OUR_FILES


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "prepare-commit-msg"])
def test_a_hook_that_refuses_is_quoted(place: Place, name: str) -> None:
    place.hook(name, "echo 'no plans \x1b[31mtoday'; exit 3")
    assert_refused(place, "a hook of the repository rejected it: no plans \\x1b[31mtoday", hint="commit again")


def test_a_hook_finds_nobody_to_ask(place: Place) -> None:
    place.hook("pre-commit", "read answer && exit 0\nread answer </dev/tty && exit 0\necho nobody; exit 1")
    assert_refused(place, "nobody", hint="commit again")


def test_a_hook_that_does_not_end_is_stopped_and_the_lock_is_gone(place: Place) -> None:
    os.mkfifo(place.root / ".git" / "never")
    place.hook("pre-commit", "cat .git/never")
    found = find_repository(place.ours, environ=place.environ, timeout_seconds=0.5, trusted=True)
    assert_refused(place, "did not end within 0.5 seconds", hint="in a terminal", repository=found)
    assert not (place.root / ".git" / "index.lock").exists()


def test_a_hook_that_does_not_end_after_the_commit_takes_nothing_back(place: Place) -> None:
    os.mkfifo(place.root / ".git" / "never")
    place.hook("post-commit", "cat .git/never")
    found = find_repository(place.ours, environ=place.environ, timeout_seconds=0.5, trusted=True)
    assert found is not None
    outcome = found.commit([place.ours], "there")
    assert outcome.status == "committed"
    assert outcome.message.endswith("on main; the post-commit hook did not end in time and was stopped")
    assert place.committed_files() == OUR_FILES
    assert place.git("status", "--porcelain") == ""


@pytest.mark.parametrize(("hook", "is_made"), [("pre-commit", False), ("post-commit", True)])
def test_an_interrupt_leaves_a_whole_commit_or_none(place: Place, hook: str, *, is_made: bool) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    os.mkfifo(place.root / ".git" / "never")
    place.hook(hook, f"kill -USR1 {os.getpid()}; cat .git/never")
    before = place.index()
    handler = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            place.commit()
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert (place.git("log", "-1", "--format=%s") != "first\n") is is_made
    assert place.git("status", "--porcelain") == "" if is_made else place.index() == before
    assert not (place.root / ".git" / "index.lock").exists()


def test_a_process_that_a_hook_leaves_behind_is_not_waited_for(place: Place) -> None:
    os.mkfifo(place.root / ".git" / "never")
    place.hook("post-commit", "cat .git/never &")
    try:
        assert place.commit().message.endswith("on main")
    finally:
        os.close(os.open(place.root / ".git" / "never", os.O_WRONLY))


def test_a_lock_is_told_with_its_owner_and_never_removed(place: Place) -> None:
    lock = place.root / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    outcome = place.commit()
    assert outcome.status == "failed"
    assert f"{lock} exists since 2023-11-14 22:13:20 UTC, made by " in outcome.message
    assert "delete that file" in outcome.hint
    assert lock.exists()
    lock.unlink()
    assert place.commit().status == "committed"


@pytest.mark.parametrize("what", ["merge", "rebase", "cherry-pick", "revert"])
def test_while_something_else_is_unfinished_nothing_is_committed(place: Place, what: str) -> None:
    place.git("checkout", "--quiet", "-b", "side")
    for number in (1, 2):
        place.write("notes.txt", f"side {number}\n")
        place.git("commit", "--quiet", "--all", f"--message=side {number}")
    place.git("checkout", "--quiet", "main")
    place.write("notes.txt", "main\n")
    place.git("commit", "--quiet", "--all", "--message=main")
    place.git(what, "side~1" if what == "revert" else "side", check=False)
    assert_refused(place, f"a {what} is in progress", hint=f"git {what} --abort")


def test_a_file_of_ours_with_conflicts_is_left_to_the_user(place: Place) -> None:
    place.commit()
    place.write(OUR_FILES[1], "stashed\n")
    place.git("stash", "--quiet")
    place.write(OUR_FILES[1], "committed\n")
    place.commit()
    place.git("stash", "pop", check=False)
    assert_refused(place, f"{OUR_FILES[1]} has conflicts", hint="resolve them")


def test_without_an_identity_the_user_is_told_how_to_give_one(place: Place) -> None:
    Path(place.environ["GIT_CONFIG_GLOBAL"]).write_text("[user]\nuseConfigOnly = true\n", encoding="utf-8")
    assert_refused(place, "git does not know who you are", hint="git config --global user.name")


def test_a_commit_that_cannot_be_signed_is_not_made(place: Place) -> None:
    place.git("config", "commit.gpgSign", "true")
    place.git("config", "gpg.program", "false")
    assert_refused(place, "the commit could not be signed: gpg failed to sign the data", hint="commit.gpgSign")


def test_a_repository_of_somebody_else_is_not_trusted_for_them(place: Place) -> None:
    environ = place.environ | {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    stranger = find_repository(place.ours, environ=environ, trusted=True)
    hint = f"git config --global --add safe.directory {place.root}"
    assert_refused(place, "belongs to another user", hint=hint, repository=stranger)


def test_a_bare_repository_is_nowhere_to_commit(tmp_path: Path, place: Place) -> None:
    place.git("init", "--quiet", "--bare", str(tmp_path / "bare.git"))
    assert find_repository(tmp_path / "bare.git" / "refs", environ=place.environ) is None


def test_a_machine_without_git_is_told_so(tmp_path: Path, place: Place) -> None:
    found = find_repository(place.ours, environ=place.environ | {"PATH": str(tmp_path)}, trusted=True)
    assert_refused(place, "there is no git on the PATH", hint="install git", repository=found)


def test_a_path_outside_is_not_committed(tmp_path: Path, place: Place) -> None:
    outcome = place.repository.commit([place.ours, tmp_path / "elsewhere.md"], "outside")
    assert outcome.status == "failed"
    assert "is not inside" in outcome.message
    assert place.git("log", "--format=%s") == "first\n"


def test_a_repository_that_cannot_be_read_is_told_in_the_words_of_git(place: Place) -> None:
    repository = place.repository
    (place.root / ".git" / "HEAD").write_text("nonsense\n", encoding="utf-8")
    outcome = repository.commit([place.ours], "broken")
    assert outcome.message.startswith(f"{SAVED}git failed: ")
    shutil.rmtree(place.root)
    assert "the folder is gone" in repository.commit([place.ours], "gone").message
