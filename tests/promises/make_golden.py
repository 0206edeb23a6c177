"""Writes the golden journals, when the format changes on purpose: python -m tests.promises.make_golden FOLDER."""

from __future__ import annotations

import shutil
import sys
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from segue.model import (
    BranchCreated,
    BranchSwitched,
    Decision,
    JsonObject,
    Learning,
    StatusChanged,
    TagsChanged,
    TaskDone,
    TitleChanged,
    Turn,
    Unknown,
)
from segue.stores.journal import JournalStore
from tests.support.journals import ODD_TEXT, START, metadata, turn

NAMES = ("small", "branches", "newer")
"""What Segue wrote; `aurora` was typed by hand."""


def make(root: Path) -> None:
    store = JournalStore(str(root))
    _small(store)
    _branches(store)
    _newer(store)


def _small(store: JournalStore) -> None:
    """A checkpoint in the middle, an append of two, and nothing that is not needed: every byte of it is flipped."""
    with store.create("small", [metadata("small")]) as writer:
        writer.append(turn(1, "Why?"))
        writer.append(StatusChanged(status="paused", timestamp=START, id="s-1"))
        writer.append(StatusChanged(status="active", timestamp=START, id="s-2"))
        writer.append(turn(2, "é \ud800"), Decision(content="Refresh", timestamp=START, id="d-1"))
        writer.append(turn(3))
        writer.append(turn(4), turn(5))


def _branches(store: JournalStore) -> None:
    later = START + timedelta(minutes=1)
    with store.create("branches", [metadata("branches"), turn(1, "Why does login fail?"), turn(2)]) as writer:
        writer.append(
            TitleChanged(title="Login — bug", timestamp=later, id="title-1"),
            TagsChanged(tags=("a", "b"), timestamp=later, id="tags-1"),
        )
        writer.append(turn(3, ODD_TEXT))
        writer.append(BranchCreated(name="other-idea", parent="main", at=1, timestamp=later, id="b-1"))
        writer.append(turn(4, branch="other-idea"), turn(5, "\u2029" * 3, branch="other-idea"), turn(6, branch="main"))
        writer.append(Decision(content="Refresh five minutes early", tags=("auth",), timestamp=later, id="d-1"))
        writer.append(Learning(description="tokens expire", task_id="1.1", timestamp=later, id="l-1"))
        for number in range(7, 10):
            writer.append(turn(number, f"{number} " + "word " * 20, branch="other-idea"))
        writer.append(BranchSwitched(branch="main", timestamp=later, id="w-1"), turn(20))
        writer.append(TaskDone(task_id="1.10", timestamp=later, id="k-1"))
        writer.append(StatusChanged(status="paused", timestamp=later, id="s-1"))
        writer.append(StatusChanged(status="active", timestamp=later, id="s-2"), turn(21))


def _newer(store: JournalStore) -> None:
    """As a later version might write it: fields and record types that this one does not know."""
    mood: JsonObject = {"mood": "cheerful", "nested": {"deep": [1, 2.5, None, True, ODD_TEXT]}}
    with store.create("newer", [metadata("newer")]) as writer:
        writer.append(Turn(role="user", content="Hi", timestamp=START, tokens=7, id="t-1", extra=mood))
        writer.append(Unknown(type="hologram", data={"width": 3, **mood}, id="h-1"))
        writer.append(turn(2), Unknown(type="", data={}, id="h-2"), turn(3))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        make(Path(folder))
        for name in NAMES:
            shutil.copyfile(Path(folder) / f"{name}.jsonl", Path(sys.argv[1]) / f"{name}.jsonl")
