"""A disposable SQLite index of sessions, for listing and searching; it is rebuilt from the sessions when it is lost.

Read `source` (what can be indexed), then `index`, `fts_query` (what users search for) and `schema.sql`.
"""

from __future__ import annotations

from segue.index.database import has_index
from segue.index.entry import Copy, Filters, IndexEntry, SearchHit
from segue.index.index import Index, RefreshResult
from segue.index.source import IndexedSession, IndexedText, ReadPosition, SessionRef, Source
from segue.index.store_source import StoreSource
from segue.index.turn_texts import turn_texts

__all__ = [
    "Copy",
    "Filters",
    "Index",
    "IndexEntry",
    "IndexedSession",
    "IndexedText",
    "ReadPosition",
    "RefreshResult",
    "SearchHit",
    "SessionRef",
    "Source",
    "StoreSource",
    "has_index",
    "turn_texts",
]
