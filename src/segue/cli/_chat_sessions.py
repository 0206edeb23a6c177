"""The sessions of `segue list` in a chat: its /list, /resume and their completion."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import click

from segue.chat.session_finder import OpenedEntry
from segue.errors import SessionLockedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.chat.dialect import Dialect
    from segue.cli._sources import Sources
    from segue.index import IndexEntry
    from segue.library import Library


class ListedSessions:
    """A `SessionFinder` for the store of a call, the configured stores and the AI tools of this machine."""

    def __init__(self, library: Library, dialect_of: Callable[[Library], Dialect]) -> None:
        self._library = library
        self._dialect_of = dialect_of
        self._context = click.get_current_context()  # completion runs in another thread, which has none

    @cached_property
    def _sources(self) -> Sources:
        from segue.cli._sources import find_sources

        with self._context.scope(cleanup=False):
            return find_sources(self._library)

    def entries(self, text: str = "", *, quiet: bool = False) -> list[IndexEntry]:
        from segue.cli._entries import list_candidates
        from segue.cli._sources import parse_filters

        return list_candidates(self._sources, parse_filters(self._sources, {}), text, quiet=quiet)

    def find(self, text: str) -> list[IndexEntry]:
        from segue.cli._lookup import find_entries

        return find_entries(self._library, self._sources, text)

    def library_of(self, entry: IndexEntry) -> Library | None:
        return self._sources.libraries.get(entry.source)

    def open(self, entry: IndexEntry) -> OpenedEntry:
        from segue.cli._external import get_external, import_match
        from segue.cli._handover import import_pending_replies

        library, id = self.library_of(entry), entry.id
        if library is None:
            library = self._library
            id = import_match(library, get_external(entry.tool, id))
        with suppress(SessionLockedError):  # whoever resumes it finds that out, too
            import_pending_replies(library, id)
        return OpenedEntry(library, id, self._dialect_of(library))
