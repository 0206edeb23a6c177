"""A receipt names what its commit survives, by the settings of the server that were in force for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from segue.errors import ReadOnlyError, SessionLockedError, StorageError
from segue.library import Library
from segue.store import Durability
from segue.stores.postgres.store import PostgresStore
from segue.testing.events import metadata, turn
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import DATABASE, PostgresServer, wait_until
from tests.support.postgres_standby import StandbyPair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.store import Receipt, Writer

ABSENT = "nobody"
"""The name of a standby that does not exist."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One whose settings these tests change."""
    with PostgresServer.create() as server:
        server.execute("CREATE ROLE hasty LOGIN SUPERUSER")
        server.execute("ALTER ROLE hasty SET synchronous_commit = off")
        yield server


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    yield server.url("segue")
    server.configure(synchronous_standby_names=None, synchronous_commit=None, fsync=None, max_wal_senders=None)
    server.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    server.execute("DROP SCHEMA IF EXISTS segue CASCADE")


def begin(url: str) -> Writer:
    """A writer that does nothing but append: its lease needs no renewal."""
    return PostgresStore(f"{url}&lease=600s").create("session", [metadata("session")])


class Waiting:
    """An append in a thread of its own, which waits for the standby."""

    def __init__(self, server: PostgresServer, writer: Writer, *, is_new: bool = True) -> None:
        self._server = server
        self._receipts: list[Receipt] = []
        self._errors: list[StorageError] = []
        self._thread = threading.Thread(target=self._append, args=(writer, is_new))
        self._thread.start()
        wait_until(lambda: self.backends != [] or not self._thread.is_alive())

    def _append(self, writer: Writer, is_new: bool) -> None:  # noqa: FBT001 - of the thread
        try:
            self._receipts.append(writer.append(turn(1), ids_are_new=is_new))
        except StorageError as error:
            self._errors.append(error)

    @property
    def backends(self) -> list[tuple[object, ...]]:
        return self._server.execute("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")

    @property
    def receipt(self) -> Receipt:
        self._thread.join()
        assert not self._errors, self._errors
        return self._receipts[0]

    @property
    def error(self) -> StorageError:
        self._thread.join()
        return self._errors[0]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("on", Durability.SYNCED),
        ("local", Durability.SYNCED),
        ("remote_write", Durability.SYNCED),
        ("remote_apply", Durability.SYNCED),
        ("off", Durability.WRITTEN),
    ],
)
def test_without_a_standby_an_append_is_synced_unless_commits_are_not(
    server: PostgresServer, url: str, setting: str, expected: Durability
) -> None:
    server.configure(synchronous_commit=setting)
    store = PostgresStore(url)
    assert store.capabilities.durability == expected
    with store.create("session", [metadata("session")]) as writer:
        assert writer.append(turn(1), ids_are_new=True).durability == expected
        assert writer.append(turn(1)).durability == expected


def test_a_server_that_does_not_sync_promises_only_what_is_written(server: PostgresServer, url: str) -> None:
    server.configure(fsync=False)
    with begin(url) as writer:
        assert writer.append(turn(1)).durability == Durability.WRITTEN


def test_settings_of_a_role_and_of_a_database_count(server: PostgresServer, url: str) -> None:
    begin(url).close()
    with PostgresStore(server.url("segue", user="hasty")).open("session") as writer:
        assert writer.append(turn(1)).durability == Durability.WRITTEN
    server.execute(f'ALTER DATABASE "{DATABASE}" SET synchronous_commit = off')
    try:
        with PostgresStore(url).open("session") as writer:
            assert writer.append(turn(2)).durability == Durability.WRITTEN
    finally:
        server.execute(f'ALTER DATABASE "{DATABASE}" RESET synchronous_commit')


def test_a_setting_that_changes_while_a_writer_is_open_shows_in_its_next_receipt(
    server: PostgresServer, url: str
) -> None:
    store = PostgresStore(url)
    found = []
    with store.create("session", [metadata("session")]) as writer:
        for number, setting in enumerate(["on", "off", "local"]):
            server.configure(synchronous_commit=setting)
            found.append((writer.append(turn(number)).durability, store.capabilities.durability))
    assert found == [
        (Durability.SYNCED, Durability.SYNCED),
        (Durability.WRITTEN, Durability.WRITTEN),
        (Durability.SYNCED, Durability.SYNCED),
    ]


def test_a_standby_that_cannot_exist_replicates_nothing(server: PostgresServer, url: str) -> None:
    """The server does not wait for a standby where none may connect."""
    with begin(url) as writer:
        server.configure(max_wal_senders=0, wal_level="minimal", synchronous_standby_names=ABSENT)
        try:
            assert writer.append(turn(1)).durability == Durability.SYNCED
        finally:
            server.configure(max_wal_senders=None, wal_level=None, synchronous_standby_names=None)


def test_a_commit_that_need_not_wait_for_the_standby_is_not_replicated(server: PostgresServer, url: str) -> None:
    with begin(url) as writer:
        server.configure(synchronous_standby_names=ABSENT, synchronous_commit="local")
        assert writer.append(turn(1)).durability == Durability.SYNCED


def test_a_cancelled_wait_for_the_standby_is_not_replicated(server: PostgresServer, url: str) -> None:
    with begin(url) as writer:
        server.configure(synchronous_standby_names=ABSENT)
        waiting = Waiting(server, writer)
        server.execute("SELECT pg_cancel_backend(%s)", waiting.backends[0])
        assert waiting.receipt.durability == Durability.SYNCED
        server.configure(synchronous_standby_names=None)
    assert [event.id for event in PostgresStore(url).read("session")][1:] == ["turn-1"]


@pytest.mark.needs("pgbouncer")
@pytest.mark.usefixtures("url")
def test_a_cancelled_wait_is_heard_of_through_a_pooler(server: PostgresServer) -> None:
    with PgBouncer(server) as pooler, begin(pooler.url("segue")) as writer:
        server.configure(synchronous_standby_names=ABSENT)
        waiting = Waiting(server, writer)
        server.execute("SELECT pg_cancel_backend(%s)", waiting.backends[0])
        assert waiting.receipt.durability == Durability.SYNCED
        server.configure(synchronous_standby_names=None)
        assert writer.append(turn(2)).durability == Durability.SYNCED


@pytest.mark.usefixtures("url")
def test_a_client_that_gets_no_warnings_does_not_believe_in_the_standby(server: PostgresServer) -> None:
    server.execute("CREATE ROLE deaf LOGIN SUPERUSER")
    server.execute("ALTER ROLE deaf SET client_min_messages = error")
    with begin(server.url("segue", user="deaf")) as writer:
        server.configure(synchronous_standby_names=ABSENT)
        waiting = Waiting(server, writer)
        server.execute("SELECT pg_cancel_backend(%s)", waiting.backends[0])
        assert waiting.receipt.durability == Durability.SYNCED
        server.configure(synchronous_standby_names=None)


def test_an_administrator_who_gives_up_the_standby_replicates_nothing(server: PostgresServer, url: str) -> None:
    """The commits that wait for it are let go without a warning."""
    with begin(url) as writer:
        server.configure(synchronous_standby_names=ABSENT)
        waiting = Waiting(server, writer)
        server.configure(synchronous_standby_names=None)
        assert waiting.receipt.durability == Durability.SYNCED


def test_a_connection_that_is_ended_while_it_waits_is_resolved_by_a_later_commit(
    server: PostgresServer, url: str
) -> None:
    """The event can be read, which does not mean that it is on a standby."""
    with begin(url) as writer:
        server.configure(synchronous_standby_names=ABSENT)
        waiting = Waiting(server, writer)
        (ended,) = waiting.backends[0]
        server.execute("SELECT pg_terminate_backend(%s)", [ended])
        wait_until(lambda: waiting.backends not in ([], [(ended,)]))
        server.execute("SELECT pg_cancel_backend(%s)", waiting.backends[0])
        assert waiting.receipt.durability == Durability.SYNCED
        server.configure(synchronous_standby_names=None)
    assert [event.id for event in PostgresStore(url).read("session")][1:] == ["turn-1"]


def test_an_append_whose_standby_never_answers_fails_in_time_and_is_there_once(
    server: PostgresServer, url: str
) -> None:
    with begin(f"{url}&timeout=1s") as writer:
        server.configure(synchronous_standby_names=ABSENT)
        waiting = Waiting(server, writer)
        assert "it may or may not have been carried out" in (waiting.error.hint or "")
        assert [event.id for event in PostgresStore(url).read("session")][1:] == []
        server.configure(synchronous_standby_names=None)
        wait_until(lambda: waiting.backends == [])
    with PostgresStore(url).open("session") as writer:
        assert writer.append(turn(1)).durability == Durability.SYNCED
    assert [event.id for event in PostgresStore(url).read("session")][1:] == ["turn-1"]


@pytest.fixture(scope="module")
def pair() -> Iterator[StandbyPair]:
    with StandbyPair() as pair:
        yield pair


def test_what_a_standby_has_acknowledged_is_replicated(pair: StandbyPair) -> None:
    store = PostgresStore(pair.url("levels"))
    found = {}
    with store.create("session", [metadata("session")]) as writer:
        for number, setting in enumerate(["on", "remote_write", "remote_apply", "local", "off"]):
            pair.primary.configure(synchronous_commit=setting)
            found[setting] = writer.append(turn(number)).durability.name
            assert writer.append(turn(number)).durability.name == found[setting]
        pair.primary.configure(synchronous_commit=None)
        assert writer.append(turn(9)).durability == Durability.REPLICATED
    assert found == {
        "on": "REPLICATED",
        "remote_write": "REPLICATED",
        "remote_apply": "REPLICATED",
        "local": "SYNCED",
        "off": "WRITTEN",
    }
    assert store.capabilities.durability == Durability.REPLICATED
    store.close()


def test_an_append_waits_for_a_standby_that_comes_back(pair: StandbyPair) -> None:
    store = PostgresStore(pair.url("waits", lease="600s"))
    with store.create("session", [metadata("session")]) as writer:
        pair.standby.stop()
        waiting = Waiting(pair.primary, writer)
        assert [event.id for event in PostgresStore(pair.primary.url("waits")).read("session")][1:] == []
        pair.standby.start()
        assert waiting.receipt.durability == Durability.REPLICATED
    store.close()


def test_a_retry_is_replicated_only_when_the_first_try_is(pair: StandbyPair) -> None:
    """An append whose wait was cancelled can be read on the primary, and is nowhere else."""
    store = PostgresStore(pair.url("retries", lease="600s"))
    with store.create("session", [metadata("session")]) as writer:
        pair.standby.stop()
        waiting = Waiting(pair.primary, writer)
        pair.primary.execute("SELECT pg_cancel_backend(%s)", waiting.backends[0])
        assert waiting.receipt.durability == Durability.SYNCED
        again = Waiting(pair.primary, writer, is_new=False)
        pair.primary.execute("SELECT pg_cancel_backend(%s)", again.backends[0])
        assert again.receipt.durability == Durability.SYNCED
        pair.standby.start()
        assert writer.append(turn(1)).durability == Durability.REPLICATED
    store.close()


def test_a_standby_answers_everything_that_reads_and_refuses_the_rest(pair: StandbyPair) -> None:
    pair.primary.configure(synchronous_commit="remote_apply")  # so that readers of the standby see it at once
    written = PostgresStore(pair.primary.url("standby"))
    with written.create("session", [metadata("session"), turn(1)]) as writer:
        writer.append(turn(2))
        store = PostgresStore(pair.standby.url("standby"))
        assert store.load("session") == written.load("session")
        assert store.overview("session") == written.overview("session")
        assert store.tail("session", 1) == written.tail("session", 1)
        assert [head.id for head in store.heads()] == ["session"]
        assert store.owner("session") == written.owner("session")
        assert store.examine("session").damages == ()
        library = Library(store)
        assert [head.id for head in library.list()] == ["session"]
        assert {found.session_id for found in library.search("said")} == {"session"}
        for change in (
            lambda: store.create("other", [metadata("other")]),
            lambda: store.open("session", timeout_seconds=0),
            lambda: store.delete("session"),
            lambda: store.trash.put("session"),
        ):
            with pytest.raises((ReadOnlyError, SessionLockedError)):
                change()
    with pytest.raises(ReadOnlyError, match="read-only") as caught:
        store.open("session", timeout_seconds=0)
    assert "target_session_attrs=read-write" in str(caught.value.hint)
    pair.primary.configure(synchronous_commit=None)
    for one in (written, store):
        one.close()
