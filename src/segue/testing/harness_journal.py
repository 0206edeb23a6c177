"""The harness of the journal store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.formats.journal import encode_event
from segue.stores.journal import JournalStore
from segue.testing.harness_file_store import FileStoreHarness

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store


class JournalHarness(FileStoreHarness):
    store_type: type[JournalStore] = JournalStore

    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:  # noqa: ARG002 - the files are enough
        lines = [encode_event(replace(event, seq=seq)) for seq, event in enumerate(events, start=1)]
        self.root.mkdir(mode=0o700, exist_ok=True)
        self._file(session_id).write_bytes(b"".join(lines))

    def damage(self, session_id: str, event_id: str) -> None:
        data = self._file(session_id).read_bytes()
        at = data.index(b'"id":"%b"' % event_id.encode())
        start = data.rfind(b"\n", 0, at) + 1
        self.flip(self._file(session_id), (start + data.index(b"\n", at)) // 2)

    def tear(self, session_id: str, event: Event) -> None:
        line = encode_event(replace(event, seq=1))
        self.leave(self._file(session_id), "a+b", line[: len(line) // 2])

    def _file(self, session_id: str) -> Path:
        return self.root / f"{session_id}.jsonl"
