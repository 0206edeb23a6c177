"""A store that answers by itself, in the simplest way: it reads everything, and tells how much it gave."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from segue.index import Index, StoreSource
from segue.model import Record
from segue.queries import Filters, FoundSession, IndexedText, ListedSession, is_match
from segue.stores.journal.store import JournalStore

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from segue.index import IndexEntry
    from segue.store import Store


class Copied(StoreSource):
    """A store as the local index reads it, whether or not it answers by itself."""

    queries = None


class ReferenceQueries:
    """See queries.Queries."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.given = 0
        """How many sessions it has listed so far."""

    def list(self, filters: Filters, limit: int | None = None) -> Iterator[ListedSession]:
        with self._index() as index:
            sessions = [self._listed(entry) for entry in index.entries()]
        for one in islice((one for one in sessions if is_match(one, filters)), limit):
            self.given += 1
            yield one

    def count(self, filters: Filters) -> int:
        return sum(1 for _ in self.list(filters))

    def near_ids(self, texts: Collection[str], each: int) -> set[str]:
        found: set[str] = set()
        ids = sorted(self._store.ids())
        for text in texts:
            for wanted, ordered in ((text, ids), (text[::-1], sorted(id[::-1] for id in ids))):
                at = sum(id < wanted for id in ordered)
                near = ordered[max(0, at - each) : at + each]
                found |= set(near) if ordered is ids else {id[::-1] for id in near}
        return found

    def search(
        self,
        text: str,
        filters: Filters,
        limit: int | None = None,
        *,
        unfinished: bool = False,
        turns_first: bool = False,
    ) -> Sequence[FoundSession]:
        with self._index() as index:
            hits = index.search(text, filters, limit=limit, unfinished=unfinished, turns_first=turns_first)
        return [
            FoundSession(
                session=self._listed(hit.entry),
                kind=hit.kind,
                seq=hit.seq,
                turn=hit.turn,
                branch=hit.branch,
                role=hit.role,
                snippet=hit.snippet,
                matches=hit.matches,
            )
            for hit in hits
        ]

    def count_matches(self, text: str, filters: Filters, *, unfinished: bool = False) -> int:
        with self._index() as index:
            return index.count(text, filters, unfinished=unfinished)

    def turns(self, session_id: str, *, first: int = 0, branch: str = "", limit: int = 6) -> Sequence[IndexedText]:
        with self._index() as index:
            (entry,) = index.entries(Filters(ids=(session_id,)))
            return index.turns(entry, first=first, branch=branch, limit=limit)

    def find_record(self, id: str, *, agent: str | None = None) -> tuple[str, Record] | None:
        for head in self._store.heads():
            for event in self._store.read(head.id):
                if isinstance(event, Record) and event.id == id and agent in {None, head.agent}:
                    return head.id, event
        return None

    def _index(self) -> Index:
        index = Index(None)
        for _, error in index.refresh([Copied(self._store)]).failed:
            raise error
        return index

    def _listed(self, entry: IndexEntry) -> ListedSession:
        return ListedSession(
            head=self._store.head(entry.id),
            tool=entry.tool,
            project=entry.project,
            folder=entry.folder,
            summary=entry.summary,
            git_branch=entry.git_branch,
            usage=entry.usage,
        )


class AnsweringJournal(JournalStore):
    """A journal that lists and searches by itself."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.queries = ReferenceQueries(self)  # type: ignore[assignment]
