"""A disposable SQLite index of sessions, for listing and searching; it is rebuilt from the sessions when it is lost.

Read `source` (what can be indexed), then `index` and `schema.sql`.
"""

from __future__ import annotations

from segue.index.database import has_index
from segue.index.entry import Copy, IndexEntry, SearchHit
from segue.index.index import Index
from segue.index.refresh import RefreshResult
from segue.index.source import IndexedSession, ReadPosition, SessionRef, Source
from segue.index.store_source import StoreSource

__all__ = [
    "Copy",
    "Index",
    "IndexEntry",
    "IndexedSession",
    "ReadPosition",
    "RefreshResult",
    "SearchHit",
    "SessionRef",
    "Source",
    "StoreSource",
    "has_index",
]
