"""Listing and filtering inside the database; see queries.Queries."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from segue.errors import Damage, DamagedError, SegueError
from segue.model import Record, redaction_id
from segue.queries import is_match
from segue.stores.postgres.columns import listed_of_row
from segue.stores.postgres.lease import this_machine
from segue.stores.postgres.query_statements import QueryStatements, conditions
from segue.stores.postgres.reading import read_event
from segue.stores.postgres.text_columns import to_column
from segue.stores.postgres.turn_numbers import TurnNumbers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from segue.model import Overview
    from segue.queries import Filters, FoundSession, IndexedText, ListedSession
    from segue.stores.postgres.tables import Tables

_FIRST_PAGE, _MOST_PAGE = 50, 2000


class PostgresQueries:
    """See queries.Queries. `overview` reads that of a session."""

    def __init__(self, tables: Tables, overview: Callable[[str], Overview]) -> None:
        self._tables = tables
        self._numbers = TurnNumbers(tables, overview)
        self._statements = QueryStatements(tables.address.schema)
        self._may_index = True

    def list(self, filters: Filters, limit: int | None = None) -> Iterator[ListedSession]:
        place = self._tables.place()
        if place is None or (limit is not None and limit < 1):
            return
        condition, values = conditions(filters)
        rows = _FIRST_PAGE if limit is None else min(limit, _MOST_PAGE)
        given = 0
        after: dict[str, object] = {}
        while True:
            statement = self._statements.page(condition, is_first=not after)
            page = self._ask(statement, **values, **after, space=place.space, rows=rows)
            for row in page:
                found = listed_of_row(row)
                if is_match(found, filters):
                    yield found
                    given += 1
                    if given == limit:
                        return
            if len(page) < rows:
                return
            last = page[-1]
            after = {"after": last[0], "updated_at": last[8], "recent_at": last[-1]}
            rows = min(2 * rows, _MOST_PAGE)

    def count(self, filters: Filters) -> int:
        place = self._tables.place()
        if place is None:
            return 0
        condition, values = conditions(filters)
        values |= {"space": place.space, "machine": this_machine()}
        is_certain = filters.status is None and filters.folder is None and not filters.named
        statement = self._statements.count(condition, is_certain=is_certain)
        ((certain,),) = self._ask(statement, **values)
        rows = () if is_certain else self._ask(self._statements.uncertain(condition), **values)
        return int(certain) + sum(is_match(listed_of_row(row), filters) for row in rows)

    def near_ids(self, texts: Collection[str], each: int) -> set[str]:
        place = self._tables.place()
        plain = sorted({text for text in texts if to_column(text) == text})
        if place is None or not plain:
            return set()
        rows = self._ask(self._statements.near_ids, space=place.space, texts=plain, each=each)
        return {id for (id,) in rows}

    def search(
        self,
        text: str,
        filters: Filters,
        limit: int | None = None,
        *,
        unfinished: bool = False,
        turns_first: bool = False,
    ) -> Sequence[FoundSession]:
        from segue.stores.postgres.search import find_matches  # imports SQLite
        from segue.stores.postgres.words import parse_search

        search, place = parse_search(text, unfinished=unfinished), self._tables.place()
        if place is None or not search.query:
            return []
        self._index(place.space)
        matches = find_matches(self._tables, place.space, search, filters, limit)
        return matches.best(limit, self._numbers, turns_first=turns_first)

    def count_matches(self, text: str, filters: Filters, *, unfinished: bool = False) -> int:
        from segue.stores.postgres.search import find_matches  # imports SQLite
        from segue.stores.postgres.words import parse_search

        search, place = parse_search(text, unfinished=unfinished), self._tables.place()
        if place is None or not search.query:
            return 0
        return find_matches(self._tables, place.space, search, filters, 1).count()

    def find_record(self, id: str, *, agent: str | None = None) -> tuple[str, Record] | None:
        place = self._tables.place()
        if place is None:
            return None
        named = None if agent is None else to_column(agent)
        values = {"space": place.space, "id": to_column(id), "agent": named}
        for session_id, *row in self._tables.ask("find a record", self._statements.find_record, **values):
            event = read_event((row[0], row[1], row[2]))
            if isinstance(event, Damage):
                raise DamagedError(session_id, [event])
            if isinstance(event, Record):
                return session_id, event
        return None

    def turns(self, session_id: str, *, first: int = 0, branch: str = "", limit: int = 6) -> Sequence[IndexedText]:
        from segue.stores.postgres.indexing import texts_of

        row, place = self._tables.find(session_id), self._tables.place_of(session_id)
        statement = self._statements.turns(on_branch=bool(branch), is_from_first=bool(first))
        values = {"space": place.space, "key": row.key, "branch": to_column(branch)}
        bound = first or row.seq
        found: deque[IndexedText] = deque()
        while len(found) < limit:
            page = self._ask(statement, **values, bound=bound, rows=limit)
            hidden = self._redacted(place.space, row.key, [seq for seq, *_ in page])
            for seq, id, body in page:
                texts = [text for text in texts_of(seq, id, body) if text.kind == "turn" and seq not in hidden]
                found += texts if first else reversed(texts)
            if len(page) < limit:
                break
            bound = page[-1][0] + (1 if first else -1)
        shown = sorted(islice(found, limit), key=lambda text: text.seq)
        return self._numbers.numbered(session_id, place.space, row.key, shown)

    def _redacted(self, space: int, key: int, seqs: Sequence[int]) -> set[int]:
        ids = [redaction_id(seq) for seq in seqs]
        rows = self._ask(self._statements.redactions, space=space, keys=[key] * len(ids), seqs=seqs, ids=ids)
        return {seq for _, seq in rows}

    def _index(self, space: int) -> None:
        """Add the words that killed writers left to do, unless this role may only read, as on a standby."""
        if self._may_index:
            from segue.stores.postgres.indexing import index_abandoned

            try:
                index_abandoned(self._tables, space)
            except SegueError:
                self._may_index = False

    def _ask(self, statement: str, **values: object) -> Sequence[tuple[Any, ...]]:
        return self._tables.ask("list the sessions", statement, **values)
