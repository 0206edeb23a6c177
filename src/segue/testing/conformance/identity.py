"""Ids are exact, checked before anything else, and name one session each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from segue.errors import InvalidIdError, NotFoundError, SessionExistsError
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids, raises
from segue.testing.events import metadata, turn, turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.store import Store
    from segue.testing.harness import Harness

QUESTIONS: dict[str, Callable[[Store, str], object]] = {
    "open": lambda store, name: store.open(name, timeout_seconds=0),
    "load": lambda store, name: store.load(name),
    "overview": lambda store, name: store.overview(name),
    "tail": lambda store, name: store.tail(name, 1),
    "read": lambda store, name: list(store.read(name)),
    "revision": lambda store, name: store.revision(name),
    "head": lambda store, name: store.head(name),
    "get_blob": lambda store, name: store.get_blob(name, "sha256:" + "0" * 64),
    "delete": lambda store, name: store.delete(name),
    "examine": lambda store, name: store.examine(name),
    "recover": lambda store, name: store.recover(name),
}
"""Every method that takes the id of a session that should exist."""

ODD_BUT_LEGAL = ("a", "0", "A.b_c-d", "x.jsonl", "x.lock", "x.json", "a..b", "nul", "x" * 128)
ILLEGAL = (
    *("", ".", "..", "../x", "a/b", "/a", "a\\b", ".hidden", "-a", "_a", "a b", " a", "a\n", "a\0b", "ü", "a\ud800"),
    *("*", "a*", "~", "x" * 129, "1\N{ARABIC-INDIC DIGIT TWO}"),
)


class IdentityChapter(Chapter):
    def test_an_illegal_id_is_refused_by_every_method(self, harness: Harness, store: Store) -> None:
        before = harness.snapshot()
        for session_id in ILLEGAL:
            for method, question in QUESTIONS.items():
                assert raises(InvalidIdError, partial(question, store, session_id)), (method, session_id)
            assert raises(InvalidIdError, partial(store.owner, session_id)), session_id
            assert raises(InvalidIdError, partial(store.create, session_id, [metadata(session_id)])), session_id
        assert harness.snapshot() == before

    def test_a_session_that_is_not_there_is_not_found(self, harness: Harness, store: Store) -> None:
        before = harness.snapshot()
        for method, question in QUESTIONS.items():
            assert raises(NotFoundError, partial(question, store, ID)), method
        assert harness.snapshot() == before
        assert list(store.ids()) == []

    def test_an_id_that_is_nearly_that_of_a_session_is_not_found(self, store: Store) -> None:
        create_and_close(store, turn(1))
        for other in (ID[:-1], ID + "1", ID.upper(), ID + ".jsonl"):
            for method, question in QUESTIONS.items():
                assert raises(NotFoundError, partial(question, store, other)), (method, other)
        assert event_ids(store) == ["turn-1"]

    def test_nobody_owns_a_session_that_is_not_there(self, store: Store) -> None:
        assert store.owner(ID) is None

    def test_odd_ids_are_sessions_of_their_own(self, store: Store) -> None:
        for number, session_id in enumerate(ODD_BUT_LEGAL):
            create_and_close(store, turn(number), session_id=session_id)
        assert sorted(store.ids()) == sorted(ODD_BUT_LEGAL)
        for number, session_id in enumerate(ODD_BUT_LEGAL):
            assert event_ids(store, session_id) == [f"turn-{number}"]
            assert store.load(session_id).id == session_id

    def test_deleting_takes_exactly_one(self, store: Store) -> None:
        for session_id in ("ab", "abc", "ab.c", "ab-c", "a"):
            create_and_close(store, session_id=session_id)
        store.delete("ab")
        assert sorted(store.ids()) == ["a", "ab-c", "ab.c", "abc"]
        with pytest.raises(NotFoundError):
            store.delete("ab")

    def test_a_deleted_id_can_be_used_again(self, store: Store) -> None:
        create_and_close(store, *turns(1, 3))
        store.delete(ID)
        create_and_close(store, turn(9))
        assert event_ids(store) == ["turn-9"]

    def test_an_id_is_taken_once(self, store: Store) -> None:
        create_and_close(store, turn(1))
        with pytest.raises(SessionExistsError) as caught:
            create_session(store, turn(2))
        assert caught.value.session_id == ID
        assert event_ids(store) == ["turn-1"]

    def test_an_id_is_taken_while_its_writer_lives(self, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            with pytest.raises(SessionExistsError):
                create_session(store)
            assert writer.append(turn(2)).seqs == (3,)

    def test_the_store_has_an_address(self, store: Store) -> None:
        scheme, colon, _ = store.url.partition(":")
        assert scheme
        assert colon
