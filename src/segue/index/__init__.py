"""A disposable index of sessions, wherever they are: found in a moment, and made anew from the files when lost.

Read `source` (what can be indexed), then `catalog` (the index), `words` (what people search for), `schema.sql`.
"""

from __future__ import annotations

from segue.index.database import has_index
from segue.index.entry import Filters, IndexEntry, SearchHit
from segue.index.index import Index, Refreshed
from segue.index.source import IndexedSession, IndexedText, ReadPosition, SessionRef, Source
from segue.index.store_source import StoreSource

__all__ = [
    "Filters",
    "Index",
    "IndexEntry",
    "IndexedSession",
    "IndexedText",
    "ReadPosition",
    "Refreshed",
    "SearchHit",
    "SessionRef",
    "Source",
    "StoreSource",
    "has_index",
]
