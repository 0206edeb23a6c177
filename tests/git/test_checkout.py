"""A working tree returns to an earlier state, nothing is lost, and nothing of an untrusted repository runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.git import RefusedError, find_repository

if TYPE_CHECKING:
    from segue.git import Repository
    from tests.support.git_repository import Place


def repository(place: Place, *, trusted: bool = True) -> Repository:
    found = find_repository(place.root, environ=place.environ, trusted=trusted)
    assert found
    return found


def test_names_that_git_would_take_for_patterns_are_put_aside_alone(place: Place) -> None:
    place.write("a.txt", "one")
    place.git("add", "--all")
    place.git("commit", "--quiet", "--message", "first")
    for name in ("*.txt", ":(top)x", "-n"):
        place.write(name, "new")
    place.write("a.txt", "two")
    paths = [place.root / name for name in ("*.txt", ":(top)x", "-n")]
    shown = repository(place).put_aside(paths, "a message")
    assert shown.endswith("(a message)")
    assert place.git("status", "--porcelain").strip() == "M a.txt"
    assert len(place.git("ls-tree", "--name-only", "stash@{0}^3").splitlines()) == 3


def test_a_branch_that_was_switched_is_not_touched(place: Place) -> None:
    branch, commit = repository(place).head()
    assert repository(place).return_to(branch, commit, "x") == []
    place.git("checkout", "--quiet", "-b", "other")
    with pytest.raises(RefusedError, match="refs/heads/other is checked out now"):
        repository(place).return_to(branch, commit, "x")
    place.git("checkout", "--quiet", "--orphan", "empty")
    with pytest.raises(RefusedError, match="there is no commit yet"):
        repository(place).head()


def test_an_untrusted_repository_is_left_alone(place: Place) -> None:
    place.write("a.txt", "one")
    closed = repository(place, trusted=False)
    for act in (closed.head, lambda: closed.put_aside(["a.txt"], "x"), lambda: closed.return_to("", "", "x")):
        with pytest.raises(RefusedError, match="not trusted"):
            act()
    assert (place.root / "a.txt").read_text() == "one"
