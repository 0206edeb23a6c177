"""The soleur store on a disk that forgets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from segue.durable.folder import TEMPORARY
from segue.formats.soleur import begin
from segue.stores.soleur import SoleurStore
from segue.testing.harness import Harness, snapshot_of
from segue.testing.power import Disk, PowerKernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store

LOCKS = "/.locks/"
"""What is written there is a courtesy: it may fail, and nothing is lost."""


class SoleurHarness(Harness):
    """See Harness. The store's folder is made by the store itself, inside the place."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self.root = place.resolve() / "sessions"
        self.disk = Disk(str(self.root.parent))
        self.kernel = PowerKernel(self.disk)

    def make(self) -> Store:
        return SoleurStore(str(self.root), kernel=self.kernel, clock=self.clock)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        return f"{SoleurStore.__module__}:{SoleurStore.__name__}", str(self.root)

    def snapshot(self) -> Mapping[str, object]:
        return snapshot_of(self.root)

    def kill(self) -> None:
        self.kernel.die()
        self.kernel = PowerKernel(self.disk)

    def power_cut(self) -> None:
        self.kill()
        self.disk.cut()

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
        self._flip(self._file(session_id), (start + end) // 2)

    def damage_blob(self, session_id: str, name: str) -> None:
        self._flip(self.root / ".blobs" / session_id / name.removeprefix("sha256:"), 0)

    def tear(self, session_id: str, event: Event) -> None:
        data = begin(session_id, [replace(self._first(session_id), seq=1), replace(event, seq=2)]).encode()
        path = self.root / f"{TEMPORARY}{session_id}-{event.id}"
        with path.open("w+b", buffering=0) as file:
            file.write(data[: len(data) // 2])
            self.disk.sync(file.fileno(), str(path))

    def fail_write(self, error_number: int) -> None:
        self.kernel.fail("write", error_number, spare=LOCKS)

    def fail_sync(self, error_number: int) -> None:
        self.kernel.fail("sync", error_number, spare=LOCKS)

    def _first(self, session_id: str) -> Event:
        return next(self.make().read(session_id))

    def _file(self, session_id: str) -> Path:
        return self.root / f"{session_id}.json"

    def _flip(self, path: Path, offset: int) -> None:
        with path.open("r+b", buffering=0) as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1]))
            self.disk.sync(file.fileno(), str(path))


def _spans(data: bytes, name: bytes, indent: int) -> list[tuple[int, int]]:
    """Where the items of a list begin and end."""
    start = data.index(b'%b"%b": [' % (b" " * (indent - 2), name))
    item = re.compile(rb"^ {%d}\{.*?^ {%d}\}" % (indent, indent), re.MULTILINE | re.DOTALL)
    return [found.span() for found in item.finditer(data, start)]
