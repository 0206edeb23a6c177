"""A disposable index of sessions, wherever they are: found in a moment, and made anew from the files when lost.

Read `source` (what can be indexed), then `catalog` (the index), `words` (what people search for), `schema.sql`.
"""

from __future__ import annotations

from segue.catalog.catalog import Catalog, Refreshed
from segue.catalog.entry import Entry, Filters, Hit
from segue.catalog.source import Glanced, Mark, Piece, Record, Sighting, Source
from segue.catalog.stored import StoreSource

__all__ = [
    "Catalog",
    "Entry",
    "Filters",
    "Glanced",
    "Hit",
    "Mark",
    "Piece",
    "Record",
    "Refreshed",
    "Sighting",
    "Source",
    "StoreSource",
]
