"""Files as context: which can be attached, and whether they have changed since."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from segue.durable.kernel import storage_error
from segue.errors import SegueError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.model import Attachment, Overview
    from segue.session import LiveSession

LIMIT_BYTES = 1 << 20
"""More than this does not fit into the context of any current model."""


def attach(session: LiveSession, path: Path, *, limit_bytes: int = LIMIT_BYTES) -> str:
    """Attach a file with its hash, unless it is already attached and unchanged; returns a message for the user."""
    name, data = os.path.realpath(path), check(path, limit_bytes=limit_bytes)
    earlier = next((one for one in reversed(session.overview.attachments) if one.path == name), None)
    if earlier is not None and earlier.hash == _hash(data):
        return f"{path} is already attached and has not changed"
    session.attach(name, data)
    changed = "; it has changed since it was attached before" if earlier is not None else ""
    return f"{path} is attached ({len(data):,} bytes){changed}"


def check(path: Path, *, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """The content of a file that can be attached. UsageError if it is too large, or not text."""
    data = read(path, limit_bytes=limit_bytes)
    try:
        is_text = b"\0" not in data and data.decode() is not None
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise UsageError(f"{path} is not a text file (UTF-8)", hint="convert it to text, and attach that")
    return data


def changes(overview: Overview, may_look: Callable[[Path], bool]) -> list[tuple[Attachment, str]]:
    """The attachments whose files differ now, each with "has changed" or "is gone".

    The paths come from the session, so only those are read that `may_look` allows.
    """
    from pathlib import Path

    latest = {one.path: one for one in overview.attachments}
    found: list[tuple[Attachment, str]] = []
    for name, one in latest.items():
        path = Path(name)
        if "\0" in name or not path.is_absolute() or not may_look(path):  # without a path it came from standard input
            continue
        try:
            if path.stat().st_size != one.size_bytes or _hash(read(path, limit_bytes=one.size_bytes)) != one.hash:
                found.append((one, "has changed"))
        except (OSError, SegueError):
            found.append((one, "is gone"))
    return found


def read(path: Path, *, limit_bytes: int) -> bytes:
    """The bytes of a regular file; never waits for a pipe."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{path} is not a regular file", hint="name a file")
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise storage_error(error, str(path), "read") from None
    if len(data) > limit_bytes:
        raise UsageError(
            f"{path} is too large: {max(found.st_size, len(data)):,} bytes; the limit is {limit_bytes:,}",
            hint="attach only the part that matters",
        )
    return data


def _hash(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
