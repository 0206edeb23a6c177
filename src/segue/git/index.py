"""The user's index: read, copied, and locked as git locks it, so that no other process commits meanwhile."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.folder import TEMPORARY, Folder
from segue.git.output import locked_error

if TYPE_CHECKING:
    from collections.abc import Iterator

_INDEX, _LOCK = "index", "index.lock"
_TICK_SECONDS = 0.02
_STALE_SECONDS = 60.0
"""An older lock is not waited for: the process that made it was killed, or waits for input."""
_MOST_HOLDERS = 6
_LEFT_SECONDS = 3600.0


class GitIndex:
    """The index of one working tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = Folder(str(folder))

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """The path of a second name for the index, which git replaces when it writes.

        It has the modification time of the index: git uses it to detect files that changed in the same moment.
        """
        name = f"{TEMPORARY}{os.urandom(8).hex()}"
        path = Path(self.folder.path_of(name))
        try:
            with suppress(FileNotFoundError):  # before anything was ever staged
                at = Path(self.folder.path_of(_INDEX)).stat().st_mtime_ns
                self.folder.link(_INDEX, name)
                self.folder.kernel.utime(str(path), ns=(at, at))  # where there are no hard links it is a copy
            yield path
        finally:
            self.folder.discard(name)
            self.folder.discard(f"{name}.lock")

    def put(self, copy: Path) -> None:
        """Replace the index by a copy; the lock must be held."""
        self.folder.rename(copy.name, _INDEX)

    @contextmanager
    def locked(self, wait_seconds: float) -> Iterator[None]:
        """Hold the lock of the index. Each other holder is waited for this long, then RefusedError names it."""
        last = time.monotonic() + _MOST_HOLDERS * wait_seconds
        holder, until = None, last
        while True:
            try:
                self.folder.close(self.folder.open(_LOCK, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
                break
            except FileExistsError:
                path, now = self.folder.path_of(_LOCK), time.monotonic()
                if (found := _identity(path)) != holder:
                    holder, until = found, min(last, now + wait_seconds)
                if now > until or _age_seconds(path) > _STALE_SECONDS:
                    raise locked_error(path) from None
            time.sleep(_TICK_SECONDS)
        try:
            yield
            self._sweep()
        finally:
            self.folder.discard(_LOCK)

    def _sweep(self) -> None:
        """Remove the temporary files of processes that were killed."""
        for entry in self.folder.scan():
            if entry.name.startswith(TEMPORARY) and _age_seconds(entry.path) > _LEFT_SECONDS:
                self.folder.discard(entry.name)


def _age_seconds(path: str) -> float:
    with suppress(OSError):
        return time.time() - os.lstat(path).st_mtime
    return 0.0


def _identity(path: str) -> tuple[int, int] | None:
    with suppress(OSError):
        found = os.lstat(path)
        return found.st_ino, found.st_mtime_ns
    return None
