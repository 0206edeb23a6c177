"""What is known of a finished import: if neither side has changed since, the session need not be read again.

It is kept in the cache, holds no text, and may be lost at any time. In any doubt, the session is read whole.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue._version import __version__
from segue.errors import SegueError
from segue.integrations.shared.history import open_lines

if TYPE_CHECKING:
    from segue.durable.folder import Folder
    from segue.integrations.shared.history import ExternalSession
    from segue.model import Overview
    from segue.store import Store

_FOLDER = "imports"
_END_BYTES = 4096


class _Position(Struct, frozen=True, kw_only=True):
    release: str
    """The release of Segue: another one may read more."""
    revision: str
    """That of the tool's session."""
    ends: str
    """A hash of both ends of its file."""
    seq: int
    """The number of the last event of the copy."""
    last: str
    """A hash of that event and of when the copy was created: what was recovered or made again is another copy."""


class ImportPositions:
    """The imports of this machine that are complete and without damage."""

    def __init__(self, cache: Folder) -> None:
        self._cache = cache
        self._folder = cache.sub(_FOLDER)

    def is_current(self, external: ExternalSession, store: Store, copy: Overview) -> bool:
        """Whether all of the session is in its copy."""
        try:
            known = msgspec.json.decode(self._folder.read(_name(store, copy)), type=_Position)
            return known == _position(external, store, copy, known.seq)
        except (OSError, SegueError, msgspec.DecodeError):
            return False

    def record(self, external: ExternalSession, store: Store, copy: Overview) -> None:
        """Record that all of the session is in its copy. A failure only costs time."""
        with suppress(OSError, SegueError):
            position = _position(external, store, copy, copy.seq)
            if position is not None:
                self._cache.make()
                self._folder.make()
                self._folder.replace(_name(store, copy), msgspec.json.encode(position), sync=False)


def _name(store: Store, copy: Overview) -> str:
    return sha256(f"{store.url}\n{copy.id}".encode("utf-8", "backslashreplace")).hexdigest()


def _position(external: ExternalSession, store: Store, copy: Overview, seq: int) -> _Position | None:
    """The position up to this event; None if it is not there any more, or the copy or the file may change unnoticed."""
    if not store.capabilities.append_only or seq > copy.seq or external.end:
        return None
    last = next(iter(store.read(copy.id, after=seq - 1)), None)
    if last is None or last.seq != seq:
        return None
    with open_lines(external.path) as lines:
        size = Path(external.path).stat().st_size
        ends = lines.read(_END_BYTES, 0) + lines.read(_END_BYTES, max(0, size - _END_BYTES))
    return _Position(
        release=__version__,
        revision=external.revision,
        ends=sha256(ends).hexdigest(),
        seq=seq,
        last=sha256(f"{copy.created_at.isoformat()}\n{last.id}".encode("utf-8", "backslashreplace")).hexdigest(),
    )
