"""There is one writer: the second gets an error that names the first, and readers are never in the way."""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from segue.errors import SessionLockedError
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session, event_ids
from segue.testing.events import START, turn
from segue.testing.process import OtherProcess

if TYPE_CHECKING:
    from segue.store import Store, Writer
    from segue.testing.harness import Harness


class LocksChapter(Chapter):
    @pytest.mark.parametrize("timeout_seconds", [0, 0.02])
    def test_the_second_writer_is_told_who_the_first_is(self, store: Store, timeout_seconds: float) -> None:
        with create_session(store, turn(1)) as writer:
            with pytest.raises(SessionLockedError) as caught:
                store.open(ID, timeout_seconds=timeout_seconds)
            assert (caught.value.session_id, caught.value.pid) == (ID, os.getpid())
            assert caught.value.host == socket.gethostname()
            assert caught.value.since is not None
            assert caught.value.since > START
            writer.append(turn(2))
        assert event_ids(store) == ["turn-1", "turn-2"]

    def test_a_second_writer_who_opened_is_as_exclusive_as_one_who_created(self, store: Store) -> None:
        create_and_close(store)
        with store.open(ID), pytest.raises(SessionLockedError):
            store.open(ID, timeout_seconds=0)

    def test_the_owner_is_known_as_long_as_it_lives(self, store: Store) -> None:
        with create_session(store):
            owner = store.owner(ID)
            assert owner is not None
            assert (owner.pid, owner.host) == (os.getpid(), socket.gethostname())
            assert owner.since is not None
            assert owner.since > START
        assert store.owner(ID) is None
        with store.open(ID):
            again = store.owner(ID)
            assert again is not None
            assert again.since is not None
            assert again.since > owner.since
        assert store.owner(ID) is None

    def test_closing_lets_the_next_writer_in(self, store: Store) -> None:
        create_and_close(store)
        for number in range(1, 20):
            with store.open(ID, timeout_seconds=0) as writer:
                writer.append(turn(number))
        assert len(event_ids(store)) == 19

    def test_who_waits_gets_in_when_the_first_leaves(self, store: Store) -> None:
        first = create_session(store, turn(1))
        got: list[Writer] = []
        waiting = threading.Thread(target=lambda: got.append(store.open(ID, timeout_seconds=60)))
        waiting.start()
        first.append(turn(2))
        first.close()
        waiting.join()
        got[0].append(turn(3))
        got[0].close()
        assert event_ids(store) == ["turn-1", "turn-2", "turn-3"]

    def test_who_looks_for_the_owner_is_never_in_the_way(self, store: Store) -> None:
        create_and_close(store)
        done = threading.Event()
        seen: list[object] = []

        def look() -> None:
            while not done.is_set():
                seen.append(store.owner(ID))
                store.head(ID)
                list(store.heads())

        looking = [threading.Thread(target=look) for _ in range(2)]
        patience = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        for thread in looking:
            thread.start()
        try:
            for _ in range(100):
                store.open(ID, timeout_seconds=0).close()
        finally:
            sys.setswitchinterval(patience)
            done.set()
            for thread in looking:
                thread.join()
        assert seen

    def test_looking_for_the_owner_leaves_no_trace(self, harness: Harness, store: Store) -> None:
        create_and_close(store)
        before = harness.snapshot()
        assert store.owner(ID) is None
        assert harness.snapshot() == before
        with store.open(ID):
            before = harness.snapshot()
            assert store.owner(ID) is not None
            assert harness.snapshot() == before

    def test_sessions_have_a_writer_each(self, store: Store) -> None:
        with create_session(store, session_id="one") as one, create_session(store, session_id="two") as two:
            assert one.append(turn(1)).seqs == two.append(turn(1)).seqs
            one.close()
            assert store.owner("one") is None
            assert store.owner("two") is not None

    def test_a_session_in_use_is_not_deleted(self, harness: Harness, store: Store) -> None:
        with create_session(store, turn(1)) as writer:
            before = harness.snapshot()
            with pytest.raises(SessionLockedError) as caught:
                store.delete(ID)
            assert caught.value.pid == os.getpid()
            with pytest.raises(SessionLockedError):
                store.delete(ID, revision=store.revision(ID))
            assert harness.snapshot() == before
            writer.append(turn(2))
        store.delete(ID)
        assert list(store.ids()) == []

    def test_a_failed_open_leaves_no_lock(self, harness: Harness, store: Store) -> None:
        create_and_close(store, turn(1))
        with store.open(ID) as writer:
            with pytest.raises(SessionLockedError):
                store.open(ID, timeout_seconds=0)
            writer.append(turn(2))
        assert store.owner(ID) is None
        if store.capabilities.can_be_damaged:
            harness.damage(ID, "turn-2")
            with pytest.raises(Exception, match=ID):
                store.open(ID, timeout_seconds=0)
            assert store.owner(ID) is None
        store.delete(ID)

    def test_writers_that_are_open_stay_open_when_the_store_closes(self, store: Store) -> None:
        writer = create_session(store, turn(1))
        store.close()
        writer.append(turn(2))
        with pytest.raises(SessionLockedError):
            store.open(ID, timeout_seconds=0)
        writer.close()
        assert event_ids(store) == ["turn-1", "turn-2"]

    def test_a_killed_writer_is_no_owner(self, harness: Harness) -> None:
        writer = create_session(harness.make(), turn(1))
        harness.kill()
        store = harness.make()
        assert store.owner(ID) is None
        if store.capabilities.shared:
            with store.open(ID, timeout_seconds=0) as successor:
                assert successor.append(turn(2)).seqs == (3,)
        else:
            assert writer.append(turn(2)).seqs == (3,)
            assert list(store.ids()) == []

    def test_another_process_is_kept_out_if_it_sees_the_store_at_all(self, harness: Harness, store: Store) -> None:
        with create_session(store, turn(1)) as writer, OtherProcess(harness.elsewhere) as other:
            if not store.capabilities.shared:
                assert other.ask("ids") == []
                assert other.ask("open", ID) in {"NotFoundError", "SessionNotFoundError"}
                return
            assert other.ask("locked_by", ID) == [os.getpid(), socket.gethostname()]
            assert other.ask("create", ID) == "SessionExistsError"
            writer.append(turn(2))
            assert other.ask("turns", ID) == ["turn-1", "turn-2"]
            writer.close()
            assert other.ask("open", ID) is None
            assert other.ask("add", 3) == [4]
            owner = store.owner(ID)
            assert owner is not None
            assert owner.pid == other.pid
            with pytest.raises(SessionLockedError) as caught:
                store.open(ID, timeout_seconds=0)
            assert caught.value.pid == other.pid
            with pytest.raises(SessionLockedError):
                store.delete(ID)
            assert event_ids(store) == ["turn-1", "turn-2", "turn-3"]

    def test_kill_9_releases_the_session_and_keeps_what_was_acknowledged(self, harness: Harness, store: Store) -> None:
        with OtherProcess(harness.elsewhere) as other:
            assert other.ask("create", ID) is None
            for number in range(1, 6):
                assert other.ask("add", number) == [number + 1]
            assert (store.owner(ID) is not None) == store.capabilities.shared
            other.kill()
        if not store.capabilities.shared:
            assert list(store.ids()) == []
            return
        assert store.owner(ID) is None
        assert store.load(ID).status == "interrupted"
        with store.open(ID, timeout_seconds=0) as writer:
            assert writer.append(turn(6)).seqs == (7,)
        assert event_ids(store) == [f"turn-{number}" for number in range(1, 7)]

    def test_a_forked_child_neither_writes_nor_releases(self, harness: Harness, store: Store) -> None:
        with OtherProcess(harness.elsewhere) as other:
            assert other.ask("create", ID) is None
            answer = other.ask("fork", 1)
            assert other.ask("turns", ID) == []
            assert other.ask("locked_by", ID) == [other.pid, socket.gethostname()]
            assert other.ask("add", 2) == [2]
            assert other.ask("turns", ID) == ["turn-2"]
            if store.capabilities.shared:
                assert answer in {"ConflictError", "WriterStoppedError"}
                owner = store.owner(ID)
                assert owner is not None
                assert owner.pid == other.pid
            else:
                assert answer == [2]
