"""Sessions that live in Emacs: a folder a session, a folder a branch, presets by name and only the differences saved.

Read `place` (from paths to sessions), `reading` (what is in the files), `opening`, then `lifecycle`. No terminal, no
environment.
"""

from __future__ import annotations

from segue.gptel.lifecycle import Lineage, Sessions
from segue.gptel.opening import Opened, open_branch, resolved
from segue.gptel.place import Place, find_place, is_session_path
from segue.gptel.registry import Entry, Registry

__all__ = [
    "Entry",
    "Lineage",
    "Opened",
    "Place",
    "Registry",
    "Sessions",
    "find_place",
    "is_session_path",
    "open_branch",
    "resolved",
]
