"""Checkpoints take a bounded share of a journal, also where the overview is large and every call opens the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.model import Record
from segue.stores.journal import JournalStore
from segue.stores.postgres import PostgresStore
from segue.testing.events import START, metadata, turn

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import JsonObject
    from segue.store import Store
    from tests.support.postgres import PostgresServer

STATE = 2000
"""Bytes of each named record."""


def record_calls(store: Store, calls: int) -> int:
    """Fifty named records, then many calls that each open the session; the bytes of what they recorded."""
    named = [state(number, "0") for number in range(50)]
    store.create("s", [metadata("s"), *named]).close()
    for number in range(calls):
        with store.open("s") as writer:
            writer.append(turn(number), state(number % 50, f"{number}"), ids_are_new=True)
    assert store.overview("s").records == store.load("s").records
    assert len(store.overview("s").records) == 50
    return STATE * (50 + calls)


def state(number: int, version: str) -> Record:
    data: JsonObject = {"text": version.ljust(STATE, ".")}
    return Record(kind="state", name=f"n{number}", data=data, timestamp=START, id=f"r{number}-{version}")


def test_many_named_records_do_not_swell_a_journal(tmp_path: Path) -> None:
    store = JournalStore(str(tmp_path))
    recorded = record_calls(store, 200)
    lines = (tmp_path / "s.jsonl").read_bytes().splitlines(keepends=True)
    checkpoints = [len(line) for line in lines if line.startswith(b'{"type":"checkpoint"')]
    assert 1 <= len(checkpoints) <= 4
    assert sum(checkpoints) < recorded


def test_nor_are_they_written_again_and_again_to_postgres(
    postgres_url: str, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    store = PostgresStore(postgres_url)
    record_calls(store, 60)
    rows = postgres_server.execute(f"SELECT seq < 60, length(body) > 100000 FROM {postgres_schema}.checkpoints")  # noqa: S608 - ours
    store.close()
    assert rows == [(True, True)]  # the first, and none since: what was recorded after it is not four times as large
