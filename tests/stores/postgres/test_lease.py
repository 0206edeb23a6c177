"""One writer by a lease: renewed while it lives, taken over when it has ended, and never written past."""

from __future__ import annotations

import os
import socket
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from segue.errors import ConflictError, SessionLockedError, SessionNotFoundError, TakenOverError, WriterStoppedError
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.lease import new_claim
from segue.testing.conformance.chapter import ID, create_session, event_ids
from segue.testing.events import turn
from tests.support.postgres_proxy import LoopbackProxy, Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.store import Writer
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres import PostgresServer


@pytest.fixture
def harness(postgres_harness: PostgresHarness) -> PostgresHarness:
    return postgres_harness


@pytest.fixture
def store(harness: PostgresHarness) -> PostgresStore:
    store = harness.make()
    assert isinstance(store, PostgresStore)
    return store


@pytest.fixture
def other(harness: PostgresHarness) -> PostgresStore:
    """As of another machine."""
    store = harness.make()
    assert isinstance(store, PostgresStore)
    return store


@pytest.fixture
def distant(harness: PostgresHarness, postgres_server: PostgresServer) -> Iterator[tuple[PostgresStore, LoopbackProxy]]:
    """One behind a network that can be stopped."""
    with LoopbackProxy(postgres_server) as proxy:
        store = PostgresStore(proxy.url(harness.address.schema))
        yield store, proxy
        store.close()


def renew(store: PostgresStore) -> None:
    """What the store does by itself from time to time."""
    store._writers._renew()


WRITES: dict[str, Callable[[Writer], object]] = {
    "a turn": lambda writer: writer.append(turn(9), ids_are_new=True),
    "events": lambda writer: writer.append(turn(8), turn(9)),
    "a blob": lambda writer: writer.put_blob(b"late"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_writer_that_was_taken_over_writes_nothing_and_learns_who_has_the_session(
    harness: PostgresHarness, store: PostgresStore, other: PostgresStore, write: Callable[[Writer], object]
) -> None:
    old = create_session(store, turn(1))
    harness.expire_leases()
    with other.open(ID, timeout_seconds=0) as writer:
        before = harness.snapshot()
        for _ in range(2):
            with pytest.raises(TakenOverError) as caught:
                write(old)
            assert (caught.value.session_id, caught.value.pid) == (ID, os.getpid())
            assert caught.value.host == socket.gethostname()
            assert caught.value.since is not None
        assert harness.snapshot() == before
        assert writer.append(turn(2)).seqs == (3,)
    with pytest.raises(TakenOverError):
        write(old)
    assert event_ids(store) == ["turn-1", "turn-2"]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_writer_of_a_deleted_session_writes_nothing(
    harness: PostgresHarness, store: PostgresStore, other: PostgresStore, write: Callable[[Writer], object]
) -> None:
    old = create_session(store, turn(1))
    harness.expire_leases()
    other.delete(ID)
    before = harness.snapshot()
    with pytest.raises(SessionNotFoundError):
        write(old)
    with create_session(other, turn(2)), pytest.raises((SessionNotFoundError, WriterStoppedError)):
        write(old)
    assert event_ids(other) == ["turn-2"]
    other.delete(ID)
    assert harness.snapshot() == before


@pytest.mark.parametrize("write", [WRITES["a turn"], WRITES["events"]], ids=["a turn", "events"])
def test_a_writer_adds_nothing_to_a_session_that_is_not_as_it_left_it(
    harness: PostgresHarness, store: PostgresStore, postgres_server: PostgresServer, write: Callable[[Writer], object]
) -> None:
    with create_session(store, turn(1)) as writer:
        for change in ("DELETE FROM {}.events WHERE seq = 2", "UPDATE {}.sessions SET seq = 1"):
            postgres_server.execute(change.format(harness.address.schema))
        with pytest.raises(WriterStoppedError, match="has lost the last event"):
            write(writer)
    assert event_ids(store) == []


def test_a_lease_that_ended_and_was_not_taken_begins_again_with_the_next_append(
    harness: PostgresHarness, store: PostgresStore, other: PostgresStore
) -> None:
    with create_session(store, turn(1)) as writer:
        harness.expire_leases()
        assert other.owner(ID) is None
        assert other.head(ID).status == other.load(ID).status == "interrupted"
        assert writer.append(turn(2), ids_are_new=True).seqs == (3,)
        assert other.owner(ID) is not None
        assert other.head(ID).status == other.load(ID).status == "active"
        with pytest.raises(SessionLockedError):
            other.open(ID, timeout_seconds=0)


def test_a_lease_is_renewed_while_nothing_is_written(
    harness: PostgresHarness, store: PostgresStore, other: PostgresStore
) -> None:
    with create_session(store, turn(1)), create_session(store, session_id="second"):
        harness.expire_leases()
        renew(store)
        for session_id in (ID, "second"):
            with pytest.raises(SessionLockedError):
                other.open(session_id, timeout_seconds=0)


def test_a_writer_that_was_taken_over_does_not_renew_the_lease_of_the_next(
    harness: PostgresHarness, store: PostgresStore, other: PostgresStore
) -> None:
    create_session(store, turn(1))
    harness.expire_leases()
    with other.open(ID, timeout_seconds=0):
        harness.expire_leases()
        renew(store)
        assert other.owner(ID) is None


def test_a_writer_that_was_taken_over_does_not_release_the_next(
    harness: PostgresHarness, store: PostgresStore, other: PostgresStore
) -> None:
    old = create_session(store, turn(1))
    harness.expire_leases()
    with other.open(ID, timeout_seconds=0):
        old.close()
        assert other.owner(ID) is not None


def test_a_writer_that_lost_its_session_to_its_own_store_does_not_end_the_renewals(
    harness: PostgresHarness, store: PostgresStore
) -> None:
    lost = create_session(store, turn(1))
    harness.expire_leases()
    with store.open(ID, timeout_seconds=0) as writer:
        lost.close()
        harness.expire_leases()
        renew(store)
        assert store.owner(ID) is not None
        assert writer.append(turn(2)).seqs == (3,)


REMOVALS: dict[str, tuple[bytes, Callable[[PostgresStore], object]]] = {
    "deleted": (b"DELETE FROM", lambda store: store.delete(ID)),
    "moved to the trash": (b"SET trash_key", lambda store: store.trash.put(ID)),
}


@pytest.mark.parametrize(("statement", "remove"), REMOVALS.values(), ids=REMOVALS)
@pytest.mark.parametrize("writes", [False, True], ids=["opened", "written"])
def test_a_session_that_is_taken_at_the_last_moment_is_not_removed(
    store: PostgresStore,
    distant: tuple[PostgresStore, LoopbackProxy],
    statement: bytes,
    remove: Callable[[PostgresStore], object],
    *,
    writes: bool,
) -> None:
    create_session(store, turn(1)).close()
    remover, proxy = distant
    assert remover.owner(ID) is None
    proxy.strike(Moment.BEFORE_REQUEST, containing=statement, cut=False)
    with ThreadPoolExecutor() as pool:
        removal = pool.submit(remove, remover)
        proxy.wait_for_strike()
        writer = store.open(ID, timeout_seconds=0)
        if writes:
            writer.append(turn(2))
            writer.close()
        proxy.resume()
        with pytest.raises(ConflictError if writes else SessionLockedError):
            removal.result()
    writer.close()
    assert event_ids(store) == ["turn-1", *(["turn-2"] if writes else [])]


def test_a_program_with_repeatable_ids_makes_different_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=0))
    assert new_claim().token != new_claim().token
