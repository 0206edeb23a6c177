"""What the picker does with sessions: find, read, change and delete them. It needs no screen."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.errors import SegueError, UsageError
from segue.index import Index, IndexEntry, SearchHit
from segue.queries import Filters, IndexedText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from segue.durable.folder import Folder
    from segue.index import Source
    from segue.library import Library
    from segue.links import Links
    from segue.session import LiveSession

SHOWN = 200
"""Sessions in the list; the user types text to find others."""
_LAST_TURNS = 6
_SHORTEST = 2
"""The shortest text to search for: a single letter would match nearly everything."""


class PickerMatch(Struct, frozen=True):
    """A session, and the match in its text if there is one."""

    entry: IndexEntry
    hit: SearchHit | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.entry.source, self.entry.id


class PickerModel:
    """Works on an index and its sources. `libraries` are the sources whose sessions can be changed, by name."""

    def __init__(
        self,
        folder: Folder | None,
        sources: Sequence[Source],
        libraries: Mapping[str, Library],
        *,
        filters: Filters | None = None,
        links: Links | None = None,
    ) -> None:
        self._folder = folder
        self._sources = sources
        self._libraries = libraries
        self._filters = filters or Filters()
        self._links = links
        self._index = Index(folder, links=links, sources=sources)

    @property
    def can_share(self) -> bool:
        """Whether other threads can refresh and search, each with its own connection."""
        return self._index.is_shared

    def refresh(self, *, with_text: bool, notify: Callable[[int], None] = lambda _: None) -> list[str]:
        """Bring the index up to date and return a message per source that failed. Thread-safe if `can_share`."""
        if not self.can_share:
            return _failures(self._index.refresh(self._sources, with_text=with_text, notify=notify).failed)
        with Index(self._folder) as index:
            return _failures(index.refresh(self._sources, with_text=with_text, notify=notify).failed)

    def find_by_name(self, text: str) -> list[PickerMatch]:
        """Sessions with all words of the text in id, title, agent, tags or project, most recently active first."""
        return [PickerMatch(entry) for entry in self._index.entries(replace(self._filters, named=text), limit=SHOWN)]

    def find_by_text(self, text: str) -> list[PickerMatch]:
        """Sessions with the text in their turns, best match first. Thread-safe if `can_share`."""
        if len(text.strip()) < _SHORTEST:
            return []
        if not self.can_share:
            return self._search(self._index, text)
        with Index(self._folder, links=self._links, sources=self._sources) as index:
            return self._search(index, text)

    def turns(self, match: PickerMatch) -> list[IndexedText]:
        """The turns to preview: from the match on, or the last ones."""
        entry, hit = match.entry, match.hit
        if hit is not None and hit.is_in_turn:
            return self._index.turns(hit.copy or entry, first=hit.seq, branch=hit.branch)
        library = self._libraries.get(entry.source)
        if library is None:
            return self._index.turns(entry, limit=_LAST_TURNS)
        turns = library.store.tail(entry.id, _LAST_TURNS)
        return [
            IndexedText(kind="turn", text=turn.content, seq=turn.seq, branch=turn.branch, role=turn.role)
            for turn in turns
        ]

    def fork(self, entry: IndexEntry, name: str) -> str:
        with self._editing(entry) as live:
            branch = live.fork(name=name or None)
        return self._reindexed(entry, f"{branch} is now the active branch")

    def rename(self, entry: IndexEntry, title: str) -> str:
        with self._editing(entry) as live:
            live.rename(title=title)
        return self._reindexed(entry, f"renamed to {title}")

    def tag(self, entry: IndexEntry, text: str) -> str:
        """Add tags, and remove those with a minus sign."""
        added = [tag.removeprefix("+") for tag in text.split() if not tag.startswith("-")]
        removed = [tag.removeprefix("-") for tag in text.split() if tag.startswith("-")]
        with self._editing(entry) as live:
            live.tag(*added, remove=removed)
            tags = live.overview.tags
        return self._reindexed(entry, f"tags: {', '.join(tags)}" if tags else "no tags")

    def has_trash(self, entry: IndexEntry) -> bool:
        return self._library(entry).store.trash is not None

    def delete(self, entry: IndexEntry) -> str:
        """Move it to the trash, or delete it if the store has none."""
        library = self._library(entry)
        if library.store.trash is None:
            library.delete(entry.id)
            return self._reindexed(entry, f"deleted {entry.id}")
        library.discard(entry.id)
        return self._reindexed(entry, f"moved {entry.id} to the trash; to restore it: segue trash restore {entry.id}")

    def close(self) -> None:
        self._index.close()

    def _search(self, index: Index, text: str) -> list[PickerMatch]:
        try:
            return [
                PickerMatch(hit.entry, hit) for hit in index.search(text, self._filters, limit=SHOWN, unfinished=True)
            ]
        except UsageError:  # no whole word typed yet
            return []

    @contextmanager
    def _editing(self, entry: IndexEntry) -> Iterator[LiveSession]:
        """The session, locked for writing until the block ends; its status does not change."""
        live = self._library(entry).open(entry.id, timeout_seconds=0)
        try:
            yield live
        finally:
            live.release()

    def _library(self, entry: IndexEntry) -> Library:
        try:
            return self._libraries[entry.source]
        except KeyError:
            raise UsageError(
                f"this session belongs to {entry.tool or entry.source} and cannot be changed here",
                hint="import it first",
            ) from None

    def _reindexed(self, entry: IndexEntry, sentence: str) -> str:
        for source in self._sources:
            if source.name == entry.source:
                self._index.update(source, entry.id)
        return sentence


def merge_matches(by_name: Sequence[PickerMatch], by_text: Sequence[PickerMatch]) -> list[PickerMatch]:
    """Matches by name first, each with its match in the text if there is one; then the others. Every session once."""
    in_text = {match.key: match for match in by_text}
    first = {match.key: in_text.get(match.key, match) for match in by_name}
    return list((first | {key: match for key, match in in_text.items() if key not in first}).values())[:SHOWN]


def _failures(failed: Sequence[tuple[str, SegueError]]) -> list[str]:
    return [f"{name} was skipped: {error}" for name, error in failed]
