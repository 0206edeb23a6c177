"""The harness of the cortext store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.dialects.cortext.format import HIDDEN, MESSAGES, SESSION, encode_turns, new_document, split_id
from segue.dialects.cortext.store import CortextStore
from segue.model import Turn, fold, overview_of
from segue.testing.harness_file_store import FileStoreHarness

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store


class CortextHarness(FileStoreHarness):
    store_type = CortextStore
    locks = "/.workspace/locks/"

    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:  # noqa: ARG002 - the files are enough
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
        lines = b"".join([encode_turns([event]) for event in numbered if isinstance(event, Turn)])
        document = new_document(split_id(session_id)[1], numbered, overview_of(fold(numbered)), len(lines))
        self.file(session_id, SESSION).parent.mkdir(mode=0o700, parents=True)
        self.file(session_id, SESSION).write_bytes(document.encode())
        self.file(session_id, MESSAGES).write_bytes(lines)

    def damage(self, session_id: str, event_id: str) -> None:
        """For a turn, in the middle of its line; for any other event, in what is under `segue`."""
        path = self.file(session_id, MESSAGES)
        data = path.read_bytes()
        at = data.find(b'"id":"%b"' % event_id.encode())
        if at >= 0:
            self.flip(path, (data.rfind(b"\n", 0, at) + 1 + data.index(b"\n", at)) // 2)
        else:
            path = self.file(session_id, SESSION)
            self.flip(path, path.read_bytes().index(b'"id": "%b",\n        "seq"' % event_id.encode()) + 8)

    def damage_blob(self, session_id: str, name: str) -> None:
        self.flip(self.file(session_id, "blobs") / name.removeprefix("sha256:"), 0)

    def tear(self, session_id: str, event: Event) -> None:
        assert isinstance(event, Turn)
        line = encode_turns([replace(event, seq=1)])
        self.leave(self.file(session_id, MESSAGES), "a+b", line[: len(line) // 2])

    def file(self, session_id: str, name: str) -> Path:
        return self.root.joinpath("conversations", *split_id(session_id), HIDDEN, name)
