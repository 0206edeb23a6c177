"""How a chat finds other sessions: those of its library, unless its command knows more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from segue.lookup import list_candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.chat.dialect import Dialect
    from segue.index import IndexEntry
    from segue.library import Library
    from segue.model import Head


class OpenedEntry(NamedTuple):
    """A session that the chat can continue in."""

    library: Library
    id: str
    dialect: Dialect | None = None
    """The dialect for it; None for the current one."""


class SessionFinder(Protocol):
    """The sessions that /list, /resume and their completion know."""

    def entries(self, text: str = "", *, quiet: bool = False) -> Sequence[IndexEntry]:
        """One entry per conversation, the last active first. With `quiet`, nothing is printed, and any thread may ask.

        Sources that cannot be read are reported or, with `quiet`, left out. Of a source with very many, it is those
        that the text may mean, or without a text the last active ones.
        """

    def find(self, text: str) -> Sequence[IndexEntry]:
        """Those that a text means: an id, a part of it, or words; empty if there is none."""

    def library_of(self, entry: IndexEntry) -> Library | None:
        """The library that has it; None for a session of an AI tool."""

    def open(self, entry: IndexEntry) -> OpenedEntry:
        """Make it ready to be resumed: a session of an AI tool is imported, and that is reported."""


class LibrarySessions:
    """The sessions of one library."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def entries(self, text: str = "", *, quiet: bool = False) -> Sequence[IndexEntry]:  # noqa: ARG002 - a library prints nothing
        return [entry_of(self._library, head) for head in list_candidates(self._library.store, text)]

    def find(self, text: str) -> Sequence[IndexEntry]:
        return [entry_of(self._library, head) for head in self._library.find(text)]

    def library_of(self, _: IndexEntry) -> Library:
        return self._library

    def open(self, entry: IndexEntry) -> OpenedEntry:
        return OpenedEntry(self._library, entry.id)


def entry_of(library: Library, head: Head) -> IndexEntry:
    """The entry of one session of a store."""
    from segue.index import IndexEntry  # only lists need the index

    return IndexEntry(
        source=library.store.url,
        id=head.id,
        agent=head.agent,
        title=head.title,
        tags=head.tags,
        status=head.status,
        turn_count=head.turn_count,
        created_at=head.created_at,
        updated_at=head.updated_at,
        damage=head.damage,
    )


def places_of(entry: IndexEntry) -> list[tuple[str, str]]:
    """The source and id of each session of a conversation."""
    return [(entry.source, entry.id), *((copy.source, copy.id) for copy in entry.copies)]
