"""kill -9 of a client at every statement: what was acknowledged is there once, and any process continues at once."""

from __future__ import annotations

import itertools
import random
import re
from contextlib import suppress
from typing import TYPE_CHECKING, cast
from urllib.parse import quote
from uuid import uuid4

import pytest

from segue.errors import NotFoundError, SessionNotFoundError
from segue.stores.journal import JournalStore
from segue.stores.postgres.store import PostgresStore
from segue.transfer.convert import Converted
from segue.transfer.convert_many import copy_all
from tests.support.journals import metadata
from tests.support.postgres import wait_until
from tests.support.postgres_breaks import MOMENTS
from tests.support.postgres_ledger import check_continues, check_ledger
from tests.support.postgres_operations import (
    BLOB,
    FIRST,
    MANY,
    OTHER_BLOB,
    WRITING,
    blob_name,
    damage,
    prepare,
    trash_keys,
)
from tests.support.processes import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer

KILLED = -9
KILLS_PER_SESSION = 20
MORE_STATEMENTS_THAN_NEEDED = 200
LONG = pytest.mark.long
EACH_MOMENT = pytest.mark.parametrize("moment", ["sent", "answered", pytest.param("before", marks=LONG)])
"""To the server, dying before a message is the same as dying after the answer to the one before."""
ONE_MOMENT = pytest.mark.parametrize(
    "moment", ["answered", *(pytest.param(one, marks=LONG) for one in ("before", "sent"))]
)
"""For operations of many statements."""


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    with Crew("tests.support.postgres_workers") as crew:
        yield crew


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url)
    yield store
    store.close()


class Deaths:
    """A process dies at each statement of an operation in turn, in the same moment of it."""

    def __init__(self, crew: Crew, url: str, operation: str, moment: str, *, place: str = "") -> None:
        self.crew, self.url, self.operation, self.moment, self.place = crew, url, operation, moment, place
        self._ended = False
        self.name = f"doomed {uuid4()}"
        """Of its connections."""
        self.is_done = False
        """Whether the operation of the last death was acknowledged before."""

    def sessions(self, *, stride: int = 1) -> Iterator[tuple[str, int]]:
        """A new name for each death; the caller prepares the session, and lets the process die."""
        for step in itertools.count(1, stride):
            assert step < MORE_STATEMENTS_THAN_NEEDED
            yield f"{self.operation.replace(' ', '-')}-{self.moment}-{step}", step
            if self._ended:
                assert step > 1, "there was no statement to die at"
                break

    def die(self, session_id: str, step: int) -> None:
        """Unless the operation has fewer statements: then the process has ended."""
        answer = self.crew.ask(
            "kill_at_statement",
            url=f"{self.url}&application_name={quote(self.name)}",
            operation=self.operation,
            session_id=session_id,
            step=step,
            moment=self.moment,
            place=self.place,
        )
        self._ended = answer["signal"] == 0
        assert answer["signal"] in (0, KILLED), f"{session_id}: {answer}"
        self.is_done = "done" in cast("list[str]", answer["acknowledged"])
        assert self.is_done or not self._ended

    def settle(self, store: PostgresStore) -> None:
        """Wait until the server has noticed the death, and finished what it was asked for."""
        statement = "SELECT 1 FROM pg_stat_activity WHERE application_name = %(name)s"
        wait_until(lambda: not store.tables.ask("look for the dead", statement, name=self.name))


@EACH_MOMENT
@pytest.mark.parametrize("operation", WRITING)
def test_dying_in_an_append_leaves_all_of_it_or_nothing(
    store: PostgresStore, crew: Crew, operation: str, moment: str
) -> None:
    deaths = Deaths(crew, store.url, operation, moment)
    ids = [] if operation == "put a blob" else [turn.id for turn in MANY] if operation == "append many" else ["t-90"]
    for session_id, step in deaths.sessions():
        prepare(store, session_id)
        deaths.die(session_id, step)
        added = check_continues(store, session_id, about=session_id)
        appends = [ids] if ids else []
        acknowledged, unknown = (appends, []) if deaths.is_done else ([], appends)
        check_ledger(store, session_id, [*acknowledged, added], unknown=unknown, before=FIRST, about=session_id)
        assert store.get_blob(session_id, blob_name(BLOB)) == BLOB
        if operation == "put a blob" and deaths.is_done:
            assert store.get_blob(session_id, blob_name(OTHER_BLOB)) == OTHER_BLOB


@EACH_MOMENT
@pytest.mark.parametrize("operation", ["create", "open and close"])
def test_dying_on_the_way_to_a_writer_leaves_a_session_that_anybody_can_open(
    store: PostgresStore, crew: Crew, operation: str, moment: str
) -> None:
    deaths = Deaths(crew, store.url, operation, moment)
    prepare(store, "other")
    for session_id, step in deaths.sessions():
        if operation != "create":
            prepare(store, session_id)
        deaths.die(session_id, step)
        if operation == "create":
            deaths.settle(store)
            is_there = session_id in set(store.ids())
            assert is_there or not deaths.is_done, session_id
            if not is_there:
                prepare(store, session_id)
        added = check_continues(store, session_id, about=session_id)
        check_ledger(store, session_id, [added], before=FIRST, about=session_id)
    check_ledger(store, "other", [], before=FIRST)


@EACH_MOMENT
@pytest.mark.parametrize("operation", ["delete", "erase"])
def test_dying_in_a_deletion_leaves_a_session_whole_or_nothing_of_it(
    store: PostgresStore, postgres_server: PostgresServer, crew: Crew, operation: str, moment: str
) -> None:
    deaths = Deaths(crew, store.url, operation, moment)
    prepare(store, "other")
    for session_id, step in deaths.sessions():
        prepare(store, session_id)
        if operation == "erase":
            store.trash.put(session_id)
        deaths.die(session_id, step)
        with suppress(NotFoundError):  # at once, all of it or nothing
            assert len(store.load(session_id).turns) == 2
        deaths.settle(store)
        trashed = trash_keys(store, session_id)
        is_left = bool(trashed) if operation == "erase" else session_id in set(store.ids())
        assert not (deaths.is_done and is_left), session_id
        if is_left and trashed:
            store.trash.restore(trashed[0])
        if is_left:
            check_ledger(store, session_id, [], before=FIRST, about=session_id)
            assert store.get_blob(session_id, blob_name(BLOB)) == BLOB
            store.delete(session_id)
        assert sessions_with_rows(postgres_server, store) == {"other"}, session_id
    check_ledger(store, "other", [], before=FIRST)


@ONE_MOMENT
@pytest.mark.parametrize("operation", ["put in the trash", "restore"])
def test_dying_on_the_way_to_or_from_the_trash_leaves_a_session_in_one_of_both(
    store: PostgresStore, crew: Crew, operation: str, moment: str
) -> None:
    deaths = Deaths(crew, store.url, operation, moment)
    for session_id, step in deaths.sessions():
        prepare(store, session_id)
        if operation == "restore":
            store.trash.put(session_id)
        deaths.die(session_id, step)
        deaths.settle(store)
        is_there, trashed = session_id in set(store.ids()), trash_keys(store, session_id)
        assert is_there != bool(trashed), session_id
        assert not deaths.is_done or is_there == (operation == "restore"), session_id
        if trashed:
            assert store.trash.restore(trashed[0]) == session_id
        check_ledger(store, session_id, [], before=FIRST, about=session_id)
        assert store.get_blob(session_id, blob_name(BLOB)) == BLOB
        check_continues(store, session_id, about=session_id)


@ONE_MOMENT
def test_dying_in_a_recovery_leaves_the_damaged_session_or_the_recovered_one_with_its_original(
    store: PostgresStore, postgres_server: PostgresServer, crew: Crew, moment: str
) -> None:
    deaths = Deaths(crew, store.url, "recover", moment)
    for session_id, step in deaths.sessions():
        prepare(store, session_id)
        damage(postgres_server, store, session_id)
        deaths.die(session_id, step)
        deaths.settle(store)
        is_damaged = bool(store.examine(session_id).damages)
        assert is_damaged != bool(trash_keys(store, session_id)), session_id
        assert not (deaths.is_done and is_damaged), session_id
        if is_damaged:
            store.recover(session_id)
        assert len(trash_keys(store, session_id)) == 1, session_id
        check_ledger(store, session_id, [], before=["m-1", "t-2"], about=session_id)
        assert store.get_blob(session_id, blob_name(BLOB)) == BLOB
        check_continues(store, session_id, about=session_id)


def sessions_with_rows(server: PostgresServer, store: PostgresStore) -> set[str]:
    """The sessions of which any table has rows; the key if there is no name any more."""
    schema = store.tables.address.schema
    found = server.execute(
        " UNION ".join(
            f"SELECT coalesce(s.id, t.session::text) FROM {schema}.{table} t"  # noqa: S608 - our own names
            f" LEFT JOIN {schema}.sessions s ON s.key = t.session"
            for table in ("events", "blobs", "checkpoints", "words")
        )
    )
    return {str(name) for (name,) in found}


@ONE_MOMENT
@pytest.mark.parametrize("operation", ["convert", "convert all"])
def test_dying_in_a_conversion_leaves_what_calling_it_again_completes(
    store: PostgresStore, crew: Crew, tmp_path: Path, operation: str, moment: str
) -> None:
    journal = JournalStore(str(tmp_path))
    store.create("other", [metadata("other")]).close()
    deaths = Deaths(crew, store.url, operation, moment, place=str(tmp_path))
    for session_id, step in deaths.sessions():
        ids = [session_id, f"{session_id}-too"]
        for id in ids:
            prepare(journal, id)
        deaths.die(session_id, step)
        deaths.settle(store)
        there = set(store.ids()) & set(ids)
        assert not deaths.is_done or there == set(ids if operation == "convert all" else ids[:1])
        for id in there:
            found = [event.id for event in store.read(id)]
            assert found == FIRST[: len(found)], id
        assert [type(copied) for copied in copy_all(journal, store, ids)] == [Converted, Converted]
        for id in ids:
            check_ledger(store, id, [], before=FIRST, about=id)
            check_continues(store, id, about=id)


@pytest.mark.parametrize(
    ("moment", "stride"), [("answered", 3), *(pytest.param(moment, 1, marks=LONG) for moment in MOMENTS)]
)
def test_dying_while_the_tables_are_created_leaves_all_of_them_or_none(
    postgres_server: PostgresServer, postgres_schema: str, crew: Crew, moment: str, stride: int
) -> None:
    url = postgres_server.url(postgres_schema)
    deaths = Deaths(crew, url, "create", moment)
    store = PostgresStore(url)
    for session_id, step in deaths.sessions(stride=stride):
        try:
            deaths.die(session_id, step)
            deaths.settle(store)
            found = list(store.ids())
            assert found in ([], [session_id])
            assert found or not deaths.is_done
            if not found:
                with pytest.raises(SessionNotFoundError):
                    store.load(session_id)
                prepare(store, session_id)
            check_ledger(store, session_id, [], before=FIRST, about=session_id)
            check_continues(store, session_id, about=session_id)
        finally:
            store.close()
            store = PostgresStore(url)
            postgres_server.execute(f"DROP SCHEMA IF EXISTS {postgres_schema} CASCADE")
    store.close()


@pytest.mark.parametrize("kills", [25, pytest.param(2000, marks=pytest.mark.long)])
def test_killing_a_writer_at_any_moment_loses_nothing_that_it_acknowledged(
    store: PostgresStore, postgres_url: str, crew: Crew, seed: int, kills: int
) -> None:
    chance = random.Random(seed)
    recorded: list[str] = []
    for kill in range(kills):
        session_id = f"killed-{kill // KILLS_PER_SESSION}"
        if kill % KILLS_PER_SESSION == 0:
            store.create(session_id, [metadata(session_id)]).close()
            recorded = ["m-1"]
        number = chance.randrange(1 << 48)
        answer = crew.ask("kill_while_writing", url=postgres_url, session_id=session_id, seed=number)
        about = f"--seed {seed}: kill {kill} of {session_id}"
        assert answer["signal"] == KILLED, about
        acknowledged = [line.split() for line in cast("list[str]", answer["acknowledged"])]
        assert store.head(session_id).status == "interrupted", about
        assert store.owner(session_id) is None, about
        added = check_continues(store, session_id, about=about)
        rest = [event.id for event in store.read(session_id, after=len(recorded))]
        assert rest.pop() == added[0], about
        next_append = rest[sum(map(len, acknowledged)) :]
        assert is_one_append(next_append, number, acknowledged), about
        recorded = check_ledger(
            store,
            session_id,
            [*acknowledged, added],
            unknown=[next_append] if next_append else [],
            before=recorded,
            about=about,
        )


def is_one_append(ids: list[str], seed: int, acknowledged: list[list[str]]) -> bool:
    """Nothing, or all of the append that was under way."""
    if not ids:
        return True
    last = re.fullmatch(rf"{seed}\.(\d+)\..*", acknowledged[-1][-1]) if acknowledged else None
    number = int(last[1]) + 1 if last else 0
    return ids == [f"{seed}.{number}.{at}of{len(ids)}" for at in range(1, len(ids) + 1)]
