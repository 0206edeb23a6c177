"""What the picker does with sessions: finds, shows, changes and removes them. No screen is needed for that."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.errors import SegueError, UsageError
from segue.index import Filters, Index, IndexedText, IndexEntry, SearchHit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from segue.durable.folder import Folder
    from segue.index import Source
    from segue.library import Library
    from segue.session import LiveSession

SHOWN = 200
"""Sessions in the list: whoever looks for another one types a word."""
_LAST_TURNS = 6
_SHORTEST = 2
"""A single letter begins half of all words there are."""


class Found(Struct, frozen=True):
    """A session, and the place in it where the words stand, if they do."""

    entry: IndexEntry
    hit: SearchHit | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.entry.source, self.entry.id


class PickerModel:
    """Over an index and the sources that it follows. `libraries` are those whose sessions can be changed, by source."""

    def __init__(
        self,
        folder: Folder | None,
        sources: Sequence[Source],
        libraries: Mapping[str, Library],
        *,
        filters: Filters | None = None,
    ) -> None:
        self._folder = folder
        self._sources = sources
        self._libraries = libraries
        self._filters = filters or Filters()
        self._catalog = Index(folder)

    @property
    def can_share(self) -> bool:
        """Whether other threads can follow the sources and search, each with a connection of its own."""
        return self._catalog.is_shared

    def follow(self, *, words: bool, notify: Callable[[int], None] = lambda _: None) -> list[str]:
        """Bring the index up to date; what could not be looked at, in words. Any thread may, if it can share."""
        if not self.can_share:
            return _failures(self._catalog.refresh(self._sources, words=words, notify=notify).failed)
        with Index(self._folder) as catalog:
            return _failures(catalog.refresh(self._sources, words=words, notify=notify).failed)

    def named(self, text: str) -> list[Found]:
        """Those with all of the words in their id, title, agent, tags or project; the last active first."""
        return [Found(entry) for entry in self._catalog.entries(replace(self._filters, named=text), limit=SHOWN)]

    def said(self, text: str) -> list[Found]:
        """Those in which the words stand, the best first. Any thread may ask, if it can share."""
        if len(text.strip()) < _SHORTEST:
            return []
        if not self.can_share:
            return self._said(self._catalog, text)
        with Index(self._folder) as catalog:
            return self._said(catalog, text)

    def turns(self, found: Found) -> list[IndexedText]:
        """What there is to read of a session: from the place that was found on, or its end."""
        entry, hit = found.entry, found.hit
        if hit is not None and hit.kind == "turn":
            return self._catalog.said(entry, first=hit.seq, branch=hit.branch)
        library = self._libraries.get(entry.source)
        if library is None:
            return self._catalog.said(entry, limit=_LAST_TURNS)
        turns = library.store.tail(entry.id, _LAST_TURNS)
        return [
            IndexedText(kind="turn", text=one.content, seq=one.seq, branch=one.branch, role=one.role) for one in turns
        ]

    def fork(self, entry: IndexEntry, name: str) -> str:
        with self._writing(entry) as live:
            branch = live.fork(name=name or None)
        return self._noted(entry, f"{branch} is the active branch now")

    def rename(self, entry: IndexEntry, title: str) -> str:
        with self._writing(entry) as live:
            live.rename(title=title)
        return self._noted(entry, f"it is now called {title}")

    def tag(self, entry: IndexEntry, words: str) -> str:
        """Add tags, and remove those with a minus before them."""
        added = [word.removeprefix("+") for word in words.split() if not word.startswith("-")]
        removed = [word.removeprefix("-") for word in words.split() if word.startswith("-")]
        with self._writing(entry) as live:
            live.tag(*added, remove=removed)
            tags = live.overview.tags
        return self._noted(entry, f"its tags are {', '.join(tags)}" if tags else "it has no tags now")

    def has_trash(self, entry: IndexEntry) -> bool:
        return self._library(entry).store.trash is not None

    def delete(self, entry: IndexEntry) -> str:
        """To the trash, where the store has one."""
        library = self._library(entry)
        if library.store.trash is None:
            library.delete(entry.id)
            return self._noted(entry, f"{entry.id} is deleted")
        library.discard(entry.id)
        return self._noted(entry, f"{entry.id} is in the trash; segue trash restore {entry.id} brings it back")

    def close(self) -> None:
        self._catalog.close()

    def _said(self, catalog: Index, text: str) -> list[Found]:
        try:
            return [Found(hit.entry, hit) for hit in catalog.search(text, self._filters, limit=SHOWN, unfinished=True)]
        except UsageError:  # no word yet
            return []

    @contextmanager
    def _writing(self, entry: IndexEntry) -> Iterator[LiveSession]:
        """As its writer for a moment; its status stays as it is."""
        live = self._library(entry).open(entry.id, timeout_seconds=0)
        try:
            yield live
        finally:
            live.release()

    def _library(self, entry: IndexEntry) -> Library:
        try:
            return self._libraries[entry.source]
        except KeyError:
            raise UsageError(f"{entry.tool or entry.source} keeps this session", hint="import it first") from None

    def _noted(self, entry: IndexEntry, sentence: str) -> str:
        for source in self._sources:
            if source.name == entry.source:
                self._catalog.note(source, entry.id)
        return sentence


def merged(named: Sequence[Found], said: Sequence[Found]) -> list[Found]:
    """Names first, each with its place if it has one; then the others. Every session once."""
    places = {found.key: found for found in said}
    first = {found.key: places.get(found.key, found) for found in named}
    return list((first | {key: found for key, found in places.items() if key not in first}).values())[:SHOWN]


def _failures(failed: Sequence[tuple[str, SegueError]]) -> list[str]:
    return [f"{name} is left out: {error}" for name, error in failed]
