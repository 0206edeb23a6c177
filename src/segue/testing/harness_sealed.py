"""The base of harnesses for stores of sealed files."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from segue.durable.folder import TEMPORARY
from segue.testing.harness_file_store import FileStoreHarness

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store


class SealedHarness(FileStoreHarness):
    @abstractmethod
    def encode(self, session_id: str, events: Sequence[Event]) -> bytes:
        """The file of a session with these events."""

    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:  # noqa: ARG002 - the files are enough
        self.root.mkdir(mode=0o700, exist_ok=True)
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
        self.file(session_id).write_bytes(self.encode(session_id, numbered))

    def damage(self, session_id: str, event_id: str) -> None:
        """Change a byte of what is under `segue`."""
        data = self.file(session_id).read_bytes()
        entries = msgspec.json.decode(data)["segue"]["events"]
        start, end = spans(data, b"events", 6)[[entry["id"] for entry in entries].index(event_id)]
        self.flip(self.file(session_id), (start + end) // 2)

    def tear(self, session_id: str, event: Event) -> None:
        first = next(self.make().read(session_id))
        data = self.encode(session_id, [replace(first, seq=1), replace(event, seq=2)])
        path = self.root / f"{TEMPORARY}{session_id}-{event.id}"
        self.leave(path, "w+b", data[: len(data) // 2])

    def file(self, session_id: str) -> Path:
        return self.root / f"{session_id}.json"


def spans(data: bytes, name: bytes, indent: int) -> list[tuple[int, int]]:
    """Where the items of a list start and end."""
    start = data.index(b'%b"%b": [' % (b" " * (indent - 2), name))
    item = re.compile(rb"^ {%d}\{.*?^ {%d}\}" % (indent, indent), re.MULTILINE | re.DOTALL)
    return [found.span() for found in item.finditer(data, start)]
