"""A server whose data is on a small disk, which can be filled to the last byte and emptied again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests.support.mounts import small_disk
from tests.support.postgres import PostgresServer, new_folder
from tests.support.postgres_programs import find_account

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZE_BYTES = 96 << 20
"""A new cluster takes about half of it."""


class SmallDiskServer(PostgresServer):
    """Its tests are marked with `needs("mounting")`."""

    @property
    def disk(self) -> Path:
        return self.folder / "disk"

    def fill(self) -> None:
        """Use up all the room that is left."""
        with contextlib.suppress(OSError), (self.disk / "ballast").open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"b" * size):
                        pass

    def make_room(self) -> None:
        (self.disk / "ballast").unlink()


@contextlib.contextmanager
def small_disk_server(*, wal_too: bool = False, size_bytes: int = SIZE_BYTES) -> Iterator[SmallDiskServer]:
    """A new server. Its write-ahead log is elsewhere, unless `wal_too`: a server that cannot write its log restarts."""
    server = SmallDiskServer(new_folder())
    server.prepare()
    try:
        with small_disk(server.disk, size_bytes) as is_mounted:
            assert is_mounted, "mounting is not permitted here"
            find_account().own(server.disk)
            server.data = server.disk / "data"
            log = [] if wal_too else ["--waldir", str(server.folder / "wal")]
            server.init(*log, "--wal-segsize", "1", min_wal_size="2MB", max_wal_size="8MB", wal_recycle=False)
            server.start()
            try:
                yield server
            finally:
                if server.is_running:
                    server.kill_9()
    finally:
        server.remove()
