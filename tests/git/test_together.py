"""Several processes commit into one repository at once, beside the git of its user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.git import Repository
from tests.support.git_repository import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(segue.__file__).resolve().parent.parent
QUICK, LONG = (4, 10), (6, 40)
"""Processes, and commits of each."""
COMMITS = """
import os, sys
from pathlib import Path
from segue.git import find_repository

root, name, count, trusted = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "trusted"
repository = find_repository(root, environ=os.environ, trusted=trusted)
ours = root / "conversations" / name
ours.mkdir(parents=True)
for number in range(count):
    (ours / "plan.md").write_text(f"{name} {number}\\n")
    (ours / f"{number}.json").write_text("{}\\n")
    outcome = repository.commit([ours], f"{name} {number}")
    print(outcome.status, outcome.message, flush=True)
"""


def committing(place: Place, name: str, count: int, trusted: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMITS, str(place.root), name, str(count), trusted],
        env=place.environ | {"PYTHONPATH": str(PACKAGE)},
        stdout=subprocess.PIPE,
        text=True,
    )


def user_at_work(place: Place, processes: list[subprocess.Popen[str]]) -> Iterator[str]:
    """The subjects of what the user commits, as long as the others are at work."""
    number = 0
    while any(process.poll() is None for process in processes):
        place.write("by-hand.txt", f"{number}\n")
        done = subprocess.run(
            ["git", "commit", "-q", "-m", f"user {number}", "by-hand.txt"],
            cwd=place.root,
            env=place.environ,
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:  # a git that finds a lock gives up
            yield f"user {number}"
        number += 1


def assert_all_are_committed(place: Place, processes: int, count: int, trusted: str, *, beside_user: bool) -> None:
    place.write("staged.txt", "staged\n")
    place.write("by-hand.txt", "first\n")
    place.git("add", "staged.txt", "by-hand.txt")
    place.git("commit", "--quiet", "-m", "by hand", "by-hand.txt")
    names = [f"process-{number}" for number in range(processes)]
    started = [committing(place, name, count, trusted) for name in names]
    by_user = list(user_at_work(place, started)) if beside_user else []
    said = [line for process in started for line in process.communicate()[0].splitlines()]
    assert [line for line in said if not line.startswith("committed ")] == []
    assert len(said) == processes * count
    subjects = place.git("log", "--format=%s").splitlines()
    wanted = [f"{name} {number}" for name in names for number in range(count)]
    assert sorted(subjects) == sorted(["first", "by hand", *wanted, *by_user])
    files = place.git("log", "--format=%x01%s", "--name-only", "--no-renames").split("\x01")[1:-2]
    for subject, *changed in (one.strip().split("\n") for one in files):
        name, _, number = subject.rpartition(" ")
        ours = {f"conversations/{name}/{number}.json", f"conversations/{name}/plan.md"}
        assert {file for file in changed if file} == ({"by-hand.txt"} if name == "user" else ours)
    fresh = Place(place.root, place.environ | {"GIT_INDEX_FILE": str(place.root / ".git" / "fresh")})
    fresh.git("read-tree", "HEAD")
    assert fresh.git("status", "--porcelain", "--", *(f"conversations/{name}" for name in names)) == ""
    assert "error" not in place.git("fsck", "--no-progress")
    print(f"{len(said)} of {processes * count} commits beside {len(by_user)} of the user")  # noqa: T201 - shown by -rP
    if (
        not beside_user
    ):  # a git reads the index before it locks it, so that one of the user's may lose what we put there
        assert place.git("status", "--porcelain").splitlines() == ["A  staged.txt", "?? conversations/001-plan/"]


@pytest.mark.parametrize("trusted", ["trusted", "untrusted"])
def test_all_of_many_commits_at_once_are_made_and_hold_their_own_files_alone(place: Place, trusted: str) -> None:
    assert_all_are_committed(place, *QUICK, trusted, beside_user=False)


def test_all_of_many_commits_beside_those_of_the_user_are_made(place: Place) -> None:
    assert_all_are_committed(place, *QUICK, "trusted", beside_user=True)


@pytest.mark.long
@pytest.mark.parametrize("beside_user", [True, False])
@pytest.mark.parametrize("trusted", ["trusted", "untrusted"])
def test_all_of_very_many_commits_at_once_are_made(place: Place, trusted: str, *, beside_user: bool) -> None:
    assert_all_are_committed(place, *LONG, trusted, beside_user=beside_user)


def test_a_lock_that_goes_away_is_waited_for(place: Place) -> None:
    lock = place.root / ".git" / "index.lock"
    lock.touch()
    found = Repository(root=place.root, environ=place.environ, wait_seconds=30)
    remover = subprocess.Popen(["/bin/sh", "-c", f"read go; rm {lock}"], stdin=subprocess.PIPE)
    assert remover.stdin is not None
    with remover:
        remover.stdin.write(b"go\n")
        remover.stdin.close()
        assert found.commit([place.ours], "after it").status == "committed"


def test_a_lock_that_stays_is_named_after_a_bounded_wait(place: Place) -> None:
    lock = place.root / ".git" / "index.lock"
    lock.touch()
    found = Repository(root=place.root, environ=place.environ, wait_seconds=0.1)
    outcome = found.commit([place.ours], "never")
    assert (outcome.status, lock.exists()) == ("failed", True)
    assert f"{lock} exists since " in outcome.message


def test_a_hook_that_takes_its_time_holds_nobody_up(place: Place) -> None:
    """While it runs the index is not locked, and what others commit meanwhile stays below our commit."""
    script = "git commit-tree -p HEAD -m between HEAD^{tree} > .git/between && git update-ref HEAD $(cat .git/between)"
    place.hook("pre-commit", f"test ! -e .git/index.lock || exit 1\nunset GIT_INDEX_FILE\n{script}")
    assert place.commit().status == "committed"
    assert place.git("log", "--format=%s").splitlines() == ["[session] Pause: a plan", "between", "first"]


def test_what_a_killed_process_left_is_swept(place: Place) -> None:
    left = place.root / ".git" / ".new-0123456789abcdef"
    fresh = place.root / ".git" / ".new-fedcba9876543210"
    for path in (left, fresh):
        path.touch()
    os.utime(left, (1_700_000_000, 1_700_000_000))
    assert place.commit().status == "committed"
    assert not left.exists()
    assert fresh.exists()
