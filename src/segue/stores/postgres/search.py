"""Full-text search: the index of Postgres finds texts with all words, and those that are shown are read and checked.

Events whose words are not in the index yet are read as well, so that an answer is always complete. The rank of a match
is that of the local index without the numbers that only a look at all texts could give: a title counts more than a
turn, a short text more than a long one, many occurrences more than one.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from segue.formats.search_texts import overview_texts
from segue.model import redaction_id
from segue.queries import MOST_COUNTED, FoundSession, IndexedText, is_match
from segue.stores.postgres.columns import listed_of_row
from segue.stores.postgres.indexing import SUMMARY, TITLE, texts_of
from segue.stores.postgres.query_statements import TEXT_KINDS, QueryStatements, conditions
from segue.stores.postgres.text_columns import from_column, to_column
from segue.stores.postgres.turn_numbers import TurnPlace
from segue.stores.postgres.words import Matcher, in_titles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from segue.queries import Filters, ListedSession
    from segue.stores.postgres.tables import Tables
    from segue.stores.postgres.turn_numbers import TurnNumbers
    from segue.stores.postgres.words import Search

T = TypeVar("T")

_ALL = 1 << 62
_MOST_CANDIDATES = 10_000
"""Texts with the words, above which only titles, summaries and the newest sessions are looked at."""
_WALKED, _ENOUGH = 250, 250
"""Sessions per step of that look, and how many with the words are enough."""
_BATCH = 50
_READ = 8
"""How many texts of a session are read to find its best match."""
_EVENTS = 200
_WEIGHTS = {"title": 4.0, "turn": 1.0, "call": 0.9}
_OTHER_WEIGHT = 2.0
_USUAL_LENGTH = 40


class Match(Struct, gc=False):
    """A text that has all words."""

    key: int
    seq: int
    part: int
    kind: str
    length: int
    is_checked: bool
    text: IndexedText | None = None
    count: int = 1
    """How often the words occur in it, as far as that is known."""

    @property
    def score(self) -> float:
        saturation = 1.2 * (0.25 + 0.75 * self.length / _USUAL_LENGTH)
        return _WEIGHTS.get(self.kind, _OTHER_WEIGHT) * 2.2 * self.count / (self.count + saturation)

    @property
    def order(self) -> tuple[float, int, int]:
        """The best first."""
        return -self.score, self.seq, self.part


def find_matches(tables: Tables, space: int, search: Search, filters: Filters, limit: int | None) -> Matches:
    """The texts that have the words; of very many, those in the newest sessions, unless there is no limit."""
    matches = Matches(tables, space, search, filters)
    matches.read_index(limit)
    matches.read_due()
    matches.drop_redacted()
    return matches


class Matches:
    """The matches of one search, by session."""

    def __init__(self, tables: Tables, space: int, search: Search, filters: Filters) -> None:
        self._tables = tables
        self._space = space
        self._search = search
        self._filters = filters
        self._matcher = Matcher(search)
        self._statements = QueryStatements(tables.address.schema)
        self._condition, self._values = conditions(filters)
        self._values |= {"space": space}
        if filters.branch is not None:
            self._values["branch"] = to_column(filters.branch)
        self._found: dict[int, list[Match]] = {}
        self._updated: dict[int, datetime] = {}
        self._is_all = True

    # ── Finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read_index(self, limit: int | None) -> None:
        query = self._search.query
        rows = self._candidates(query, _ALL if limit is None else _MOST_CANDIDATES + 1)
        if limit is None or len(rows) <= _MOST_CANDIDATES:
            self._add(rows)
            return
        self._is_all = False
        self._add(self._candidates(in_titles(query), _MOST_CANDIDATES))
        known = {(match.key, match.seq, match.part) for found in self._found.values() for match in found}
        for keys in self._newest():
            rows = self._candidates(query, _ALL, keys)
            self._add(row for row in rows if row[:3] not in known)
            if len(self._found) >= max(_ENOUGH, 2 * limit):
                return

    def _candidates(self, query: str, most: int, keys: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
        statement = self._statements.candidates(
            self._condition, on_branch=self._filters.branch is not None, in_sessions=keys is not None
        )
        values = self._values | {"query": query, "most": most}
        if keys is not None:
            values["keys"] = list(keys)
        return self._tables.ask("search", statement, **values)

    def _newest(self) -> Iterator[list[int]]:
        after: dict[str, object] = {}
        while True:
            statement = self._statements.newest(self._condition, is_first=not after)
            page = self._tables.ask("search", statement, **self._values, **after, rows=_WALKED)
            if page:
                yield [key for key, *_ in page]
            if len(page) < _WALKED:
                return
            _, recent_at, updated_at, id = page[-1]
            after = {"recent_at": recent_at, "updated_at": updated_at, "after": id}

    def _add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for key, seq, part, kind, length, is_cut, updated_at in rows:
            if updated_at is None:
                continue
            match = Match(key, seq, part, kind, length, is_checked=self._search.is_exact and not is_cut)
            self._found.setdefault(key, []).append(match)
            self._updated[key] = updated_at

    def read_due(self) -> None:
        """Find what is not in the index yet."""
        rows = self._tables.ask("search", self._statements.due(self._condition), **self._values)
        for chunk in _batches(rows, _WALKED):
            due = {row[0]: row for row in chunk}
            if self._filters.branch is None:
                self._check_new(chain.from_iterable(_session_texts(row) for row in chunk), due)
            for events in self._due_events(chunk):
                new = ((key, part, one) for key, *event in events for part, one in enumerate(texts_of(*event)))
                self._check_new(new, due)

    def _due_events(self, due: Sequence[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
        values = {
            "space": self._space,
            "keys": [row[0] for row in due],
            "words_seqs": [row[1] for row in due],
            "seqs": [row[2] for row in due],
            "kinds": list(TEXT_KINDS),
        }
        after_key = after_seq = 0
        while True:
            after = {"after_key": after_key, "after_seq": after_seq}
            page = self._tables.ask("search", self._statements.due_events, **values, **after, rows=_EVENTS)
            yield page
            if len(page) < _EVENTS:
                return
            after_key, after_seq, *_ = page[-1]

    def _check_new(self, texts: Iterable[tuple[int, int, IndexedText]], due: Mapping[int, tuple[Any, ...]]) -> None:
        branch = self._filters.branch
        asked = [one for one in texts if branch is None or one[2].branch == branch]
        for number, count in self._matcher.match([text.text for _, _, text in asked]).items():
            key, part, text = asked[number]
            length = len(text.text.split())
            self._found.setdefault(key, []).append(
                Match(key, text.seq, part, text.kind, length, is_checked=True, text=text, count=count)
            )
            self._updated[key] = due[key][5]

    def drop_redacted(self) -> None:
        found = [match for matches in self._found.values() for match in matches if match.kind in {"turn", "call"}]
        hidden: set[tuple[int, int]] = set()
        for batch in _batches(found, _MOST_CANDIDATES):
            values = {
                "keys": [match.key for match in batch],
                "seqs": [match.seq for match in batch],
                "ids": [redaction_id(match.seq) for match in batch],
            }
            hidden.update(self._tables.ask("search", self._statements.redactions, space=self._space, **values))
        for key in {key for key, _ in hidden}:
            self._found[key] = [match for match in self._found[key] if (match.key, match.seq) not in hidden]
            if not self._found[key]:
                del self._found[key]

    # ── Answering ────────────────────────────────────────────────────────────────────────────────────────────────────

    def count(self) -> int:
        if self._search.is_exact and not self._is_all:
            return max(MOST_COUNTED, len(self._found))
        return sum(1 for batch in _batches(self._ranked(), _BATCH) for _ in self._checked(batch, reads_best=False))

    def best(self, limit: int | None, numbers: TurnNumbers, *, turns_first: bool) -> list[FoundSession]:
        chosen: list[tuple[ListedSession, list[Match]]] = []
        for batch in _batches(self._ranked(), _BATCH):
            chosen += self._checked(batch, reads_best=True)
            if limit is not None and len(chosen) >= limit:
                break
        chosen.sort(key=lambda one: one[1][0].order[0])
        shown = [(session, _shown(found, turns_first=turns_first), len(found)) for session, found in chosen[:limit]]
        places = [
            TurnPlace(match.key, session.head.id, match.seq, match.text.branch)
            for session, match, _ in shown
            if match.text is not None and match.kind in {"turn", "call"}
        ]
        turns = numbers.find(self._space, places)
        return [self._result(session, match, count, turns) for session, match, count in shown]

    def _ranked(self) -> list[int]:
        """The sessions, the best first; of equals the last active."""
        by_time = sorted(self._found, key=lambda key: (self._updated[key], key), reverse=True)
        return sorted(by_time, key=lambda key: min(match.order[0] for match in self._found[key]))

    def _checked(self, keys: Sequence[int], *, reads_best: bool) -> Iterator[tuple[ListedSession, list[Match]]]:
        """Those of the sessions that match, each with its matches, the best first."""
        rows = self._tables.ask("search", self._statements.by_keys, space=self._space, keys=list(keys))
        sessions = {row[-2]: listed_of_row(row) for row in rows}
        wanted = {key: self._found[key] for key in keys if key in sessions and is_match(sessions[key], self._filters)}
        self._read([match for found in wanted.values() for match in _to_read(found, reads_best=reads_best)], sessions)
        for key, found in wanted.items():
            if kept := sorted((match for match in found if match.is_checked), key=lambda match: match.order):
                yield sessions[key], kept

    def _read(self, matches: Sequence[Match], sessions: Mapping[int, ListedSession]) -> None:
        """Read the texts, and check that they match."""
        for batch in _batches(matches, _EVENTS):
            texts = self._texts(batch, sessions)
            asked = [match for match in batch if (match.key, match.seq, match.part) in texts]
            counts = self._matcher.match([texts[match.key, match.seq, match.part].text for match in asked])
            for match in batch:
                match.is_checked = False
            for number, count in counts.items():
                match = asked[number]
                match.is_checked, match.count = True, count
                match.text = texts[match.key, match.seq, match.part]

    def _texts(
        self, matches: Sequence[Match], sessions: Mapping[int, ListedSession]
    ) -> dict[tuple[int, int, int], IndexedText]:
        places = {(match.key, match.seq) for match in matches}
        events = sorted(place for place in places if place[1])
        texts = {
            (key, 0, part): text
            for key, seq in places
            if not seq
            for part, text in _title_texts(sessions[key].head.title, sessions[key].summary)
        }
        if events:
            keys, seqs = zip(*events, strict=True)
            rows = self._tables.ask(
                "search", self._statements.events, space=self._space, keys=list(keys), seqs=list(seqs)
            )
            texts |= {(key, event[0], part): text for key, *event in rows for part, text in enumerate(texts_of(*event))}
        return texts

    def _result(
        self, session: ListedSession, match: Match, count: int, turns: Mapping[tuple[int, int], int]
    ) -> FoundSession:
        text = match.text
        return FoundSession(
            session=session,
            kind=match.kind,  # type: ignore[arg-type]  # ours
            seq=match.seq,
            turn=turns.get((match.key, match.seq), 0) if match.kind in {"turn", "call"} else 0,
            branch=text.branch if text is not None else "",
            role=text.role if text is not None else "",
            snippet=self._matcher.snippet(text.text) if text is not None else (),
            matches=count,
        )


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _shown(found: list[Match], *, turns_first: bool) -> Match:
    """The best match, or the first turn instead of a title."""
    if turns_first and found[0].kind == "title":
        turns = [match for match in found if match.kind in {"turn", "call"} and match.text is not None]
        return min(turns, key=lambda match: (match.seq, match.part), default=found[0])
    return found[0]


def _to_read(found: list[Match], *, reads_best: bool) -> Iterator[Match]:
    """Those whose texts must be read: what is not certain, and of what may be shown the best."""
    unread = [match for match in found if match.text is None]
    yield from (match for match in unread if not match.is_checked)
    if reads_best:
        certain = [match for match in unread if match.is_checked]
        best = sorted(certain, key=lambda match: match.order)[:_READ]
        turns = [match for match in certain if match.kind in {"turn", "call"}]
        first = min(turns, key=lambda match: (match.seq, match.part), default=None)
        yield from best
        if first is not None and first not in best:
            yield first


def _session_texts(row: tuple[Any, ...]) -> Iterator[tuple[int, int, IndexedText]]:
    for part, text in _title_texts(from_column(row[3]), from_column(row[4])):
        yield row[0], part, text


def _title_texts(title: str, summary: str) -> Iterator[tuple[int, IndexedText]]:
    for text in overview_texts(title, summary):
        yield (TITLE if text.kind == "title" else SUMMARY), text
