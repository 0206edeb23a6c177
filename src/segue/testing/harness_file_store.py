"""The base of harnesses for stores on files, on a disk that forgets what was not synced."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from segue.store import Durability
from segue.testing.harness import Harness, snapshot_of
from segue.testing.power import Disk, PowerKernel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segue.durable.file_store import FileStore
    from segue.store import Store


class FileStoreHarness(Harness):
    """See Harness. The store itself makes its folder, inside `place`."""

    store_type: type[FileStore]
    locks = "/.locks/"
    """What is written there is for information only: it may fail, and nothing is lost."""

    def __init__(self, place: Path, *, durability: Durability = Durability.SYNCED) -> None:
        super().__init__()
        self.durability = durability
        self.root = place.resolve() / "sessions"
        self.disk = Disk(str(self.root.parent))
        self.kernel = PowerKernel(self.disk)

    def make(self) -> Store:
        # A FileStore alone has no content to read, so it is not yet a Store: each kind adds that.
        return cast(
            "Store",
            self.store_type(str(self.root), kernel=self.kernel, clock=self.clock, durability=self.durability),
        )

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

    def damage_blob(self, session_id: str, name: str) -> None:
        self.flip(self.root / ".blobs" / session_id / name.removeprefix("sha256:"), 0)

    def fail_write(self, error_number: int) -> None:
        self.kernel.fail("write", error_number, spare=self.locks)

    def fail_sync(self, error_number: int) -> None:
        self.kernel.fail("sync", error_number, spare=self.locks)

    def flip(self, path: Path, offset: int) -> None:
        """Change one bit, durably."""
        with path.open("r+b", buffering=0) as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1]))
            self.disk.sync(file.fileno(), str(path))

    def leave(self, path: Path, mode: str, data: bytes) -> None:
        """Leave what a crash leaves of a write, durably."""
        with path.open(mode, buffering=0) as file:
            file.write(data)
            self.disk.sync(file.fileno(), str(path))
