"""Segue: the session layer for AI agents.

Start a conversation in any tool, stop it anywhere, resume it anywhere. `segue.open(url)` gives a library of sessions:

    lib = segue.open("journal:~/notes")
    with lib.create(agent="qa-test", title="Login bug") as session:
        session.add("user", "Why does login fail?")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segue._version import __version__
    from segue.errors import (
        AmbiguousIdError,
        ConflictError,
        Damage,
        DamagedError,
        DiskFullError,
        InvalidIdError,
        MissingExtraError,
        NotFoundError,
        ReadOnlyError,
        SegueError,
        SessionExistsError,
        SessionLockedError,
        StorageError,
        TooLargeError,
        TransitionError,
        UsageError,
        WriterStoppedError,
    )
    from segue.library import Library, open  # noqa: A004 - the public name is segue.open
    from segue.model import Branch, Head, Overview, Session, Turn, fold
    from segue.session import LiveSession
    from segue.store import Durability, Receipt, Store, Writer

_HOMES = {
    "segue._version": ("__version__",),
    "segue.errors": (
        "AmbiguousIdError",
        "ConflictError",
        "Damage",
        "DamagedError",
        "DiskFullError",
        "InvalidIdError",
        "MissingExtraError",
        "NotFoundError",
        "ReadOnlyError",
        "SegueError",
        "SessionExistsError",
        "SessionLockedError",
        "StorageError",
        "TooLargeError",
        "TransitionError",
        "UsageError",
        "WriterStoppedError",
    ),
    "segue.library": ("Library", "open"),
    "segue.model": ("Branch", "Head", "Overview", "Session", "Turn", "fold"),
    "segue.session": ("LiveSession",),
    "segue.store": ("Durability", "Receipt", "Store", "Writer"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AmbiguousIdError",
    "Branch",
    "ConflictError",
    "Damage",
    "DamagedError",
    "DiskFullError",
    "Durability",
    "Head",
    "InvalidIdError",
    "Library",
    "LiveSession",
    "MissingExtraError",
    "NotFoundError",
    "Overview",
    "ReadOnlyError",
    "Receipt",
    "SegueError",
    "Session",
    "SessionExistsError",
    "SessionLockedError",
    "StorageError",
    "Store",
    "TooLargeError",
    "TransitionError",
    "Turn",
    "UsageError",
    "Writer",
    "WriterStoppedError",
    "__version__",
    "fold",
    "open",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: `segue --version` should not wait for the library."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'segue' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
