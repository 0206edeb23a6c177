"""How the conformance suite makes a store and hurts it: the part of the proof that every store writes for itself."""

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
    """One place where sessions are kept, fresh for each test.

    What a store cannot suffer, its harness does not imitate: the four methods that begin with `damage`, `tear` and
    `fail` are never called where the capabilities say that they would make no sense.
    """

    def __init__(self) -> None:
        self.clock = Clock()

    @abstractmethod
    def make(self) -> Store:
        """A store on this place; another object each time."""

    @property
    @abstractmethod
    def elsewhere(self) -> tuple[str, ...]:
        """How another process makes the same store: `module:name` of a callable, then its arguments."""

    @abstractmethod
    def snapshot(self) -> object:
        """Everything there is outside the process, to be compared with another snapshot."""

    @abstractmethod
    def kill(self) -> None:
        """End every writer at once, as kill -9 would: nothing is recorded, locks are dropped."""

    @abstractmethod
    def power_cut(self) -> None:
        """As `kill`, and whatever was not synced is gone."""

    @abstractmethod
    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:
        """Put a session there as another program, perhaps a newer one, would have left it."""

    def damage(self, session_id: str, event_id: str) -> None:
        """Change one byte in the middle of the record of this event."""
        raise NotImplementedError(f"{session_id} {event_id}")

    def damage_blob(self, session_id: str, name: str) -> None:
        """Change one byte of a blob."""
        raise NotImplementedError(f"{session_id} {name}")

    def tear(self, session_id: str, event: Event) -> None:
        """Leave what a writer leaves that dies half-way through appending this event."""
        raise NotImplementedError(f"{session_id} {event}")

    def fail_write(self, error_number: int) -> None:
        """Let the next write fail with this error of the operating system."""
        raise NotImplementedError(error_number)

    def fail_sync(self, error_number: int) -> None:
        """Let the next sync fail with this error of the operating system."""
        raise NotImplementedError(error_number)


def snapshot_of(folder: Path) -> Mapping[str, object]:
    """Every file and folder below this one: kind and mode, inode, time of change, content."""
    return dict(_look(folder)) if folder.exists() else {}


def _look(folder: Path) -> Iterator[tuple[str, object]]:
    for path in [folder, *sorted(folder.rglob("*"))]:
        found = os.lstat(path)
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        yield str(path), (found.st_mode, found.st_ino, found.st_mtime_ns, content)
