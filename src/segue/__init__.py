"""Segue: the session layer for AI agents.

Start a conversation in any tool, stop it anywhere, resume it anywhere. `segue.open()` gives a library of sessions:

    lib = segue.open("journal:~/notes")
    with lib.create(agent="qa-test", title="Login bug") as session:
        session.add("user", "Why does login fail?")

The public API is what `dir(segue)`, `dir(segue.aio)` and `dir(segue.testing)` list.
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
        NotInTrashError,
        OutdatedStoreError,
        ReadOnlyError,
        SegueError,
        SessionExistsError,
        SessionLockedError,
        SessionNotFoundError,
        StorageError,
        TakenOverError,
        TooLargeError,
        TransitionError,
        UntrustedError,
        UsageError,
        WriterStoppedError,
    )
    from segue.library import Library, open  # noqa: A004 - segue.open
    from segue.library_results import Cleaned, Follower, SearchResult, StreamedSession
    from segue.model import (
        Attachment,
        Branch,
        BranchCreated,
        BranchSwitched,
        Decision,
        Event,
        Head,
        Learning,
        Metadata,
        OverridesChanged,
        Overview,
        Pattern,
        PresetChosen,
        Record,
        ScopeChanged,
        Session,
        StatusChanged,
        SummaryWritten,
        TagsChanged,
        TaskDone,
        TitleChanged,
        Turn,
        Unknown,
        fold,
    )
    from segue.session import LiveSession
    from segue.store import (
        Capabilities,
        Durability,
        Examination,
        Owner,
        Receipt,
        Recovery,
        Store,
        Trash,
        Trashed,
        Writer,
    )

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
        "NotInTrashError",
        "OutdatedStoreError",
        "ReadOnlyError",
        "SegueError",
        "SessionExistsError",
        "SessionLockedError",
        "SessionNotFoundError",
        "StorageError",
        "TakenOverError",
        "TooLargeError",
        "TransitionError",
        "UntrustedError",
        "UsageError",
        "WriterStoppedError",
    ),
    "segue.library": ("Library", "open"),
    "segue.library_results": ("Cleaned", "Follower", "SearchResult", "StreamedSession"),
    "segue.model": (
        "Attachment",
        "Branch",
        "BranchCreated",
        "BranchSwitched",
        "Decision",
        "Event",
        "Head",
        "Learning",
        "Metadata",
        "OverridesChanged",
        "Overview",
        "Pattern",
        "PresetChosen",
        "Record",
        "ScopeChanged",
        "Session",
        "StatusChanged",
        "SummaryWritten",
        "TagsChanged",
        "TaskDone",
        "TitleChanged",
        "Turn",
        "Unknown",
        "fold",
    ),
    "segue.session": ("LiveSession",),
    "segue.store": (
        "Capabilities",
        "Durability",
        "Examination",
        "Owner",
        "Receipt",
        "Recovery",
        "Store",
        "Trash",
        "Trashed",
        "Writer",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = ("aio", "testing")

__all__ = [
    "AmbiguousIdError",
    "Attachment",
    "Branch",
    "BranchCreated",
    "BranchSwitched",
    "Capabilities",
    "Cleaned",
    "ConflictError",
    "Damage",
    "DamagedError",
    "Decision",
    "DiskFullError",
    "Durability",
    "Event",
    "Examination",
    "Follower",
    "Head",
    "InvalidIdError",
    "Learning",
    "Library",
    "LiveSession",
    "Metadata",
    "MissingExtraError",
    "NotFoundError",
    "NotInTrashError",
    "OutdatedStoreError",
    "OverridesChanged",
    "Overview",
    "Owner",
    "Pattern",
    "PresetChosen",
    "ReadOnlyError",
    "Receipt",
    "Record",
    "Recovery",
    "ScopeChanged",
    "SearchResult",
    "SegueError",
    "Session",
    "SessionExistsError",
    "SessionLockedError",
    "SessionNotFoundError",
    "StatusChanged",
    "StorageError",
    "Store",
    "StreamedSession",
    "SummaryWritten",
    "TagsChanged",
    "TakenOverError",
    "TaskDone",
    "TitleChanged",
    "TooLargeError",
    "TransitionError",
    "Trash",
    "Trashed",
    "Turn",
    "Unknown",
    "UntrustedError",
    "UsageError",
    "Writer",
    "WriterStoppedError",
    "__version__",
    "fold",
    "open",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: `segue --version` should not wait for the library."""
    if name in _SUBMODULES:
        return import_module(f"segue.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'segue' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_SUBMODULES]
