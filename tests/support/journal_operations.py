"""Every operation of the journal store on a prepared folder, for proofs that break each in the middle."""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING

from segue.model import JsonObject, StatusChanged, Turn
from segue.stores.journal import JournalStore
from tests.support.journals import CORPUS, START, lay, metadata, turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.stores.journal.writer import JournalWriter

BLOB = b"a picture" * 100
BLOB_NAME = f"sha256:{hashlib.sha256(BLOB).hexdigest()}"
FIRST = ("m-1", "t-1", "t-2")
"""The ids of every sound session in the prepared folder."""
NEW = "t-90"
MANY = tuple(turn(number, "x" * 50) for number in (90, 91, 92))


def prepare(root: Path) -> None:
    """Sound sessions with a blob, a torn one and a damaged one."""
    store = JournalStore(str(root))
    for name in ("sound", "sounder", "other"):
        with store.create(name, [metadata(name)]) as writer:
            writer.append(turn(1), turn(2))
            writer.put_blob(BLOB)
    with store.create("left", [metadata("left")]) as writer:  # a checkpoint, and most of the journal behind it
        writer.append(StatusChanged(status="paused", timestamp=START, id="s-1"))
        for number in range(1, 20):
            writer.append(turn(number))
    data = (CORPUS / "small.jsonl").read_bytes()
    lay(root, "torn", data[:-30])
    lay(root, "damaged", data[:200] + b"~" + data[201:])


def copy(prepared: Path, root: Path) -> Path:
    shutil.copytree(prepared, root, symlinks=True)
    return root


def create(store: JournalStore) -> None:
    with store.create("new", [metadata("new"), turn(1), turn(2)]):
        pass


def open_and_close(session_id: str) -> Callable[[JournalStore], object]:
    return lambda store: store.open(session_id, timeout_seconds=0).close()


def paused() -> StatusChanged:
    return StatusChanged(status="paused", timestamp=START, id=NEW)


def long_turn() -> Turn:
    """Enough for a checkpoint behind it."""
    part: JsonObject = {"text": "y" * 5000}
    return Turn(role="tool", content="", timestamp=START, tokens=None, parts=(part,), id=NEW)


WRITING: dict[str, Callable[[JournalWriter], object]] = {
    "append one": lambda writer: writer.append(turn(90), ids_are_new=True),
    "append one with its id": lambda writer: writer.append(turn(90)),
    "append many": lambda writer: writer.append(*MANY, ids_are_new=True),
    "append with a checkpoint": lambda writer: writer.append(long_turn(), ids_are_new=True),
    "append a status": lambda writer: writer.append(paused(), ids_are_new=True),
}
"""Appends to `sound`, each of which records the event NEW."""

OTHERS: dict[str, tuple[str, Callable[[JournalStore], object]]] = {
    "create": ("new", create),
    "open": ("sound", open_and_close("sound")),
    "open what was left": ("left", open_and_close("left")),
    "open with a torn tail": ("torn", open_and_close("torn")),
    "delete": ("sound", lambda store: store.delete("sound")),
    "recover": ("damaged", lambda store: store.recover("damaged")),
    "load": ("sound", lambda store: store.load("sound")),
    "examine": ("damaged", lambda store: store.examine("damaged")),
    "heads": ("sound", lambda store: list(store.heads())),
    "head": ("sound", lambda store: store.head("sound")),
    "tail": ("left", lambda store: store.tail("left", 3)),
    "read": ("left", lambda store: list(store.read("left", after=2))),
    "owner": ("sound", lambda store: store.owner("sound")),
    "get_blob": ("sound", lambda store: store.get_blob("sound", BLOB_NAME)),
}
READING = ("load", "examine", "heads", "head", "tail", "read", "owner", "get_blob")
