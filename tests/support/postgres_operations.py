"""Every operation of a store in Postgres on a prepared session, for proofs that break each in the middle."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from segue.model import StatusChanged
from tests.support.journals import START, metadata, turn

if TYPE_CHECKING:
    from segue.store import Store, Writer
    from segue.stores.postgres.store import PostgresStore
    from tests.support.postgres import PostgresServer

Notify = Callable[[str], None]
BLOB = b"a picture" * 100
OTHER_BLOB = b"another picture" * 100
FIRST = ["m-1", "t-1", "t-2"]
"""The ids of the events of every prepared session."""
MANY = [turn(number, "x" * 50) for number in (90, 91, 92)]
LONG = turn(90, "y" * 40_000)
"""Enough for a checkpoint."""


def blob_name(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def prepare(store: Store, session_id: str) -> None:
    with store.create(session_id, [metadata(session_id), turn(1), turn(2)]) as writer:
        writer.put_blob(BLOB)


WRITING: dict[str, Callable[[Writer], object]] = {
    "append one": lambda writer: writer.append(turn(90), ids_are_new=True),
    "append one with its id": lambda writer: writer.append(turn(90)),
    "append many": lambda writer: writer.append(*MANY, ids_are_new=True),
    "append with a checkpoint": lambda writer: writer.append(LONG, ids_are_new=True),
    "append a status": lambda writer: writer.append(
        StatusChanged(status="paused", timestamp=START, id="t-90"), ids_are_new=True
    ),
    "put a blob": lambda writer: writer.put_blob(OTHER_BLOB),
}
"""On the writer of a prepared session. Each append records the event t-90, one of them two more."""


def damage(server: PostgresServer, store: PostgresStore, session_id: str) -> None:
    """Change a byte of the first turn."""
    schema = store.tables.address.schema
    server.execute(
        f"UPDATE {schema}.events SET body = overlay(body placing 'X' from 20) FROM {schema}.sessions s"  # noqa: S608 - ours
        " WHERE s.key = session AND s.id = %s AND events.id = 't-1'",
        [session_id],
    )


def trash_keys(store: PostgresStore, session_id: str) -> list[str]:
    return [entry.key for entry in store.trash.entries() if entry.head.id == session_id]


def operate(store: PostgresStore, operation: str, session_id: str, notify: Notify) -> None:
    """Call it, and note that it has returned."""
    match operation:
        case "create":
            writer = store.create(session_id, [metadata(session_id), turn(1), turn(2)])
            notify("done")
            writer.close()
        case "open and close":
            store.open(session_id, timeout_seconds=0).close()
        case "delete":
            store.delete(session_id)
        case "put in the trash":
            store.trash.put(session_id)
        case "restore" | "erase":
            [key] = trash_keys(store, session_id)
            (store.trash.restore if operation == "restore" else store.trash.erase)(key)
        case "recover":
            store.recover(session_id)
        case _:
            raise AssertionError(operation)
    notify("done")
