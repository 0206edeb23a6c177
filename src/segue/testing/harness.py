"""How the conformance suite makes a store and damages it: the part that every store writes for itself."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from segue.testing.events import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from segue.model import Event
    from segue.store import Store


class Harness(ABC):
    """One empty location for sessions, new for each test.

    A harness does not simulate what cannot happen to its store: the methods whose names begin with `damage`, `tear` and
    `fail` are not called if the capabilities of the store rule them out.
    """

    def __init__(self) -> None:
        self.clock = Clock()

    @abstractmethod
    def make(self) -> Store:
        """A new store object on this location."""

    @property
    @abstractmethod
    def elsewhere(self) -> tuple[str, ...]:
        """How another process makes the same store: `module:name` of a callable, then its arguments."""

    @abstractmethod
    def snapshot(self) -> object:
        """Everything that is stored outside the process, to be compared with another snapshot."""

    @abstractmethod
    def kill(self) -> None:
        """End every writer at once, as kill -9 would: nothing is recorded, locks are released."""

    @abstractmethod
    def power_cut(self) -> None:
        """Like `kill`, and everything that was not synced is lost."""

    @abstractmethod
    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:
        """Write a session as another program, perhaps a newer version, would have left it."""

    def damage(self, session_id: str, event_id: str) -> None:
        """Change one byte in the middle of the record of this event."""
        raise NotImplementedError(f"{session_id} {event_id}")

    def damage_blob(self, session_id: str, name: str) -> None:
        """Change one byte of a blob."""
        raise NotImplementedError(f"{session_id} {name}")

    def tear(self, session_id: str, event: Event) -> None:
        """Leave what a writer leaves that dies while it appends this event."""
        raise NotImplementedError(f"{session_id} {event}")

    def fail_write(self, error_number: int) -> None:
        """Let the next write fail with this error of the operating system."""
        raise NotImplementedError(error_number)

    def fail_sync(self, error_number: int) -> None:
        """Let the next sync fail with this error of the operating system."""
        raise NotImplementedError(error_number)


def snapshot_of(folder: Path) -> Mapping[str, object]:
    """Every file and folder below this one: kind and mode, inode, time of change, content."""
    return dict(_iter_entries(folder)) if folder.exists() else {}


def _iter_entries(folder: Path) -> Iterator[tuple[str, object]]:
    for path in [folder, *sorted(folder.rglob("*"))]:
        found = os.lstat(path)
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        yield str(path), (found.st_mode, found.st_ino, found.st_mtime_ns, content)
