"""A branch shares the beginning of another and continues on its own; a fork copies nothing and loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import NotFoundError
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import fork, switched, turn, turns

if TYPE_CHECKING:
    from segue.store import Store


class BranchesChapter(Chapter):
    def test_a_branch_begins_with_what_it_shares(self, store: Store) -> None:
        with create_session(store, *turns(1, 4)) as writer:
            writer.append(fork("other", 2))
            writer.append(turn(5, branch="other"))
            writer.append(turn(6))
        session = store.load(ID)
        assert session.branch == "other"
        assert _path(store, "other") == [1, 2, 5]
        assert _path(store, "main") == [1, 2, 3, 4, 6]

    @pytest.mark.parametrize("at", [0, 1, 3])
    def test_a_branch_can_begin_anywhere(self, store: Store, at: int) -> None:
        create_and_close(store, *turns(1, 3), fork("other", at), turn(9, branch="other"))
        assert _path(store, "other") == [*range(1, at + 1), 9]
        assert store.head(ID).turn_count == at + 1

    def test_a_branch_of_a_branch_shares_what_that_one_shares(self, store: Store) -> None:
        with create_session(store, *turns(1, 4), fork("a", 3)) as writer:
            writer.append(turn(5, branch="a"), fork("b", 4, parent="a"), turn(6, branch="b"))
            writer.append(fork("c", 1, parent="b"), turn(7, branch="c"), fork("d", 2, parent="c"))
        assert [_path(store, name) for name in "abcd"] == [[1, 2, 3, 5], [1, 2, 3, 5, 6], [1, 7], [1, 7]]

    def test_what_the_parent_gains_later_is_not_shared(self, store: Store) -> None:
        create_and_close(store, *turns(1, 2), fork("other", 2), turn(3), turn(4, branch="other"))
        assert _path(store, "other") == [1, 2, 4]

    def test_one_can_fork_and_stay(self, store: Store) -> None:
        with create_session(store, turn(1), fork("other", 1, switch=False)) as writer:
            assert writer.overview.branch == "main"
        assert store.load(ID).branch == store.head(ID).branch == "main"

    def test_switching_goes_to_and_fro(self, store: Store) -> None:
        with create_session(store, turn(1), fork("other", 1)) as writer:
            for number, name in enumerate(("main", "other", "main")):
                writer.append(switched(name, number))
                assert writer.overview.branch == store.load(ID).branch == store.head(ID).branch == name

    def test_any_branch_can_be_written_whichever_is_active(self, store: Store) -> None:
        with create_session(store, turn(1), fork("a", 1), fork("b", 0)) as writer:
            for number in range(2, 20):
                writer.append(turn(number, branch=("main", "a", "b")[number % 3]))
        assert _path(store, "main") == [1, *range(3, 20, 3)]
        assert _path(store, "a") == [1, *range(4, 20, 3)]
        assert _path(store, "b") == [*range(2, 20, 3)]

    def test_a_branch_made_in_the_same_append_can_be_used_in_it(self, store: Store) -> None:
        with create_session(store) as writer:
            writer.append(turn(1), fork("other", 1), turn(2, branch="other"), fork("third", 2, parent="other"))
        assert _path(store, "third") == [1, 2]

    def test_branches_that_are_not_there_are_not_found(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            for event in (switched("nowhere"), fork("other", 0, parent="nowhere")):
                with pytest.raises(NotFoundError):
                    writer.append(turn(2), event)
        assert event_ids(store) == ["turn-1"]

    def test_branches_are_there_for_the_next_writer(self, store: Store) -> None:
        create_and_close(store, *turns(1, 60), fork("a", 30), *turns(61, 90, branch="a"))
        for number in range(91, 99):
            with store.open(ID) as writer:
                assert writer.overview.branch == "a"
                writer.append(turn(number, branch="a"))
        assert _path(store, "a") == [*range(1, 31), *range(61, 99)]


def _path(store: Store, branch: str) -> list[int | None]:
    path = store.load(ID).path(branch)
    assert store.tail(ID, len(path), branch=branch) == path
    assert store.load(ID).branches[branch].turn_count == len(path)
    return [event.tokens for event in path]
