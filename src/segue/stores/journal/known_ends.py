"""What the ends of journals were when this process last saw them, so that the next look reads only what is new.

It is in memory alone and never the truth. What is known counts only for a file with the same inode that ends, at the
known size, with the very same bytes; and
- if the file has not grown, its mtime and ctime must be the same, too: no program can write to a file, rename or
  replace it without changing one of them, except within one tick of the clock;
- if it has grown, what follows must be nothing but numbered lines of ours, with their checksums, that continue the
  known numbers. Whoever wrote them held the lock and checked the end of the file before, as the next writer does here.
In all other cases the end is read as if nothing were known, so that every damage is found as without this.

The overview is remembered as bytes: the dicts in an overview that was given to a caller may be changed by it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from segue.durable.folder import is_settled

if TYPE_CHECKING:
    from typing import Self

_MOST_SESSIONS = 256
_MOST_IDS = 250_000
_MOST_BYTES = 1 << 20
"""Of one overview."""

TAIL_BYTES = 1024

Recorded = dict[str, tuple[int, int]]
"""By id: the seq and the fingerprint of an event."""


class FileState(NamedTuple):
    """What tells that a file is the same, and unchanged."""

    device: int
    inode: int
    mtime_ns: int
    ctime_ns: int
    size: int

    @classmethod
    def of(cls, found: os.stat_result) -> Self:
        return cls(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)

    def is_settled(self) -> bool:
        """Whether any later change gives another state: two changes within one tick of the clock look the same."""
        return is_settled(max(self.mtime_ns, self.ctime_ns))


class KnownEnd(NamedTuple):
    """The end of a journal whose last append is complete."""

    state: FileState
    overview: bytes
    seq: int
    since_checkpoint: int
    checkpoint_size: int
    tail: bytes
    """The last bytes of the file: with the checksum of its last line, and with an id that is used once."""
    is_settled: bool = False
    """Whether the state alone tells that nothing has changed."""
    recorded: Recorded | None = None
    """All recorded ids, if a writer needed them."""


class KnownEnds:
    """A bounded number of them, the least recently used are forgotten first. Safe in threads and after a fork."""

    def __init__(self) -> None:
        self._ends: OrderedDict[str, KnownEnd] = OrderedDict()
        self._ids = 0
        self._lock = threading.Lock()
        _all.add(self)

    def get(self, session_id: str) -> KnownEnd | None:
        with self._lock:
            if (known := self._ends.get(session_id)) is not None:
                self._ends.move_to_end(session_id)
            return known

    def get_unchanged(self, session_id: str, path: str) -> KnownEnd | None:
        """The end of a file that has certainly not changed, at the cost of a stat."""
        known = self.get(session_id)
        if known is None or not known.is_settled:
            return None
        try:
            return known if FileState.of(os.lstat(path)) == known.state else None
        except OSError:
            return None  # whoever opens the file gets the error

    def take(self, session_id: str) -> KnownEnd | None:
        """The same as `get`, and forget it: a writer changes the recorded ids."""
        with self._lock:
            return self._pop(session_id)

    def put(self, session_id: str, known: KnownEnd) -> None:
        if len(known.overview) > _MOST_BYTES:
            return
        if known.recorded is not None and len(known.recorded) > _MOST_IDS:
            known = known._replace(recorded=None)
        with self._lock:
            earlier = self._pop(session_id)
            if known.recorded is None and earlier is not None and earlier.state == known.state:
                known = known._replace(recorded=earlier.recorded)
            self._ends[session_id] = known
            self._ids += len(known.recorded or ())
            while len(self._ends) > _MOST_SESSIONS or self._ids > _MOST_IDS:
                self._pop(next(iter(self._ends)))

    def forget(self) -> None:
        with self._lock:
            self._ends.clear()
            self._ids = 0

    def after_fork_in_child(self) -> None:
        """A thread of the parent may have held the lock, and may have been amid a change."""
        self._lock = threading.Lock()
        self.forget()

    def _pop(self, session_id: str) -> KnownEnd | None:
        known = self._ends.pop(session_id, None)
        if known is not None:
            self._ids -= len(known.recorded or ())
        return known


_all: weakref.WeakSet[KnownEnds] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for ends in list(_all):
        ends.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
