"""The sessions that `segue list` shows, in its order: one place for everything that names a line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._sources import open_index

if TYPE_CHECKING:
    from segue.cli._sources import Sources
    from segue.index import Filters, IndexEntry


def list_entries(sources: Sources, filters: Filters, *, limit: int | None = None) -> list[IndexEntry]:
    """One entry per conversation, the last active first. The index is brought up to date before."""
    with open_index(sources, with_text=False) as index:
        return index.entries(filters, limit=limit)
