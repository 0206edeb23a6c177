"""The sessions that `segue list` shows, in its order: one place for everything that names a line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.cli._sources import open_index
from segue.console import output

if TYPE_CHECKING:
    from segue.cli._sources import Sources
    from segue.index import IndexEntry
    from segue.queries import Filters


class Listing(NamedTuple):
    entries: list[IndexEntry]
    short_ids: dict[str, str]
    """By id, the part of it that is enough to name a session; empty where no user reads it."""


def list_with_short_ids(sources: Sources, filters: Filters, *, limit: int | None = None) -> Listing:
    with open_index(sources, with_text=False) as index:
        entries = index.entries(filters, limit=limit)
        ids = {entry.id for entry in entries}
        return Listing(entries, index.short_ids(ids, filters.sources) if output.stdout_is_tty() else {})


def list_candidates(sources: Sources, filters: Filters, text: str = "", *, quiet: bool = False) -> list[IndexEntry]:
    """One entry per conversation, the last active first. The index is brought up to date before.

    Of a source with very many, it is those that the text may mean, or without a text the last active ones.
    """
    with open_index(sources, with_text=False, quiet=quiet) as index:
        return index.candidates(text, filters)
