"""The journal store on a disk that forgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.formats.journal import encode_event
from segue.store import Durability
from segue.stores.journal import JournalStore
from segue.testing.harness import Harness, snapshot_of
from segue.testing.power import Disk, PowerKernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store


LOCKS = "/.locks/"
"""What is written there is a courtesy: it may fail, and nothing is lost."""


class JournalHarness(Harness):
    """See Harness. The store's folder is made by the store itself, inside the place."""

    store_type: type[JournalStore] = JournalStore

    def __init__(self, place: Path, *, durability: Durability = Durability.SYNCED) -> None:
        super().__init__()
        self.root = place.resolve() / "sessions"
        self.durability = durability
        self.disk = Disk(str(self.root.parent))
        self.kernel = PowerKernel(self.disk)

    def make(self) -> Store:
        return self.store_type(str(self.root), durability=self.durability, kernel=self.kernel, clock=self.clock)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        return f"{self.store_type.__module__}:{self.store_type.__name__}", str(self.root)

    def snapshot(self) -> Mapping[str, object]:
        return snapshot_of(self.root)

    def kill(self) -> None:
        self.kernel.die()
        self.kernel = PowerKernel(self.disk)

    def power_cut(self) -> None:
        self.kill()
        self.disk.cut()

    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:  # noqa: ARG002 - the files are enough
        lines = [encode_event(replace(event, seq=seq)) for seq, event in enumerate(events, start=1)]
        self.root.mkdir(mode=0o700, exist_ok=True)
        self._file(session_id).write_bytes(b"".join(lines))

    def damage(self, session_id: str, event_id: str) -> None:
        data = self._file(session_id).read_bytes()
        at = data.index(b'"id":"%b"' % event_id.encode())
        start = data.rfind(b"\n", 0, at) + 1
        self._flip(self._file(session_id), (start + data.index(b"\n", at)) // 2)

    def damage_blob(self, session_id: str, name: str) -> None:
        self._flip(self.root / ".blobs" / session_id / name.removeprefix("sha256:"), 0)

    def tear(self, session_id: str, event: Event) -> None:
        line = encode_event(replace(event, seq=1))
        path = self._file(session_id)
        with path.open("a+b", buffering=0) as file:
            file.write(line[: len(line) // 2])
            self.disk.sync(file.fileno(), str(path))

    def fail_write(self, error_number: int) -> None:
        self.kernel.fail("write", error_number, spare=LOCKS)

    def fail_sync(self, error_number: int) -> None:
        self.kernel.fail("sync", error_number, spare=LOCKS)

    def _file(self, session_id: str) -> Path:
        return self.root / f"{session_id}.jsonl"

    def _flip(self, path: Path, offset: int) -> None:
        with path.open("r+b", buffering=0) as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1]))
            self.disk.sync(file.fileno(), str(path))
