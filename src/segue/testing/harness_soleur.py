"""The soleur store on a disk that forgets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from segue.durable.folder import TEMPORARY
from segue.formats.soleur import begin
from segue.stores.soleur import SoleurStore
from segue.testing.harness_shelf import ShelfHarness

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store


class SoleurHarness(ShelfHarness):
    store_type = SoleurStore

    def make(self) -> Store:
        return SoleurStore(str(self.root), kernel=self.kernel, clock=self.clock)

    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:  # noqa: ARG002 - the files are enough
        self.root.mkdir(mode=0o700, exist_ok=True)
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
        self._file(session_id).write_bytes(begin(session_id, numbered).encode())

    def damage(self, session_id: str, event_id: str) -> None:
        """Of a turn that is shown, in its message, where a person would edit it; else in what is under `segue`."""
        data = self._file(session_id).read_bytes()
        entries = msgspec.json.decode(data)["segue"]["events"]
        shown = [entry["id"] for entry in entries if entry["type"] == "turn" and "sum" in entry]
        if event_id in shown:
            start, end = _spans(data, b"messages", 4)[shown.index(event_id)]
        else:
            start, end = _spans(data, b"events", 6)[[entry["id"] for entry in entries].index(event_id)]
        self.flip(self._file(session_id), (start + end) // 2)

    def tear(self, session_id: str, event: Event) -> None:
        data = begin(session_id, [replace(self._first(session_id), seq=1), replace(event, seq=2)]).encode()
        path = self.root / f"{TEMPORARY}{session_id}-{event.id}"
        self.leave(path, "w+b", data[: len(data) // 2])

    def _first(self, session_id: str) -> Event:
        return next(self.make().read(session_id))

    def _file(self, session_id: str) -> Path:
        return self.root / f"{session_id}.json"


def _spans(data: bytes, name: bytes, indent: int) -> list[tuple[int, int]]:
    """Where the items of a list begin and end."""
    start = data.index(b'%b"%b": [' % (b" " * (indent - 2), name))
    item = re.compile(rb"^ {%d}\{.*?^ {%d}\}" % (indent, indent), re.MULTILINE | re.DOTALL)
    return [found.span() for found in item.finditer(data, start)]
