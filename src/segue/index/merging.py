"""Sources that list and search by themselves, and their answers merged with those of the index.

Listings are merged by time. Ranks of different sources cannot be compared, so searches are merged by place: the best of
each source come first, then the second of each. Conversations that have sessions in such a source are few, and are
asked for one by one.
"""

from __future__ import annotations

from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec.structs import replace

from segue.index.conversations import Conversations, LinkedRow, linked_ids
from segue.index.entry import LARGEST, IndexEntry, SearchHit, from_microseconds, is_within, to_microseconds
from segue.queries import Filters, candidates, is_match

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from segue.index.answers import Answers
    from segue.index.conversations import Conversation
    from segue.links import Links
    from segue.queries import FoundSession, ListedSession, Queries

T = TypeVar("T")


class Ask(Protocol):
    def __call__(self, ask: Callable[[Answers], T], /) -> T:
        """Ask the index something, in one moment."""


class MergedAnswers:
    """The answers of the index (through `ask`) and of sources that answer by themselves, by name."""

    def __init__(self, ask: Ask, queries: Mapping[str, Queries], links: Links | None) -> None:
        self._ask = ask
        self._queries = queries
        self._linked: dict[int, tuple[str, ListedSession]] = {}
        """By the number of a row, which is negative, the linked sessions of these sources."""
        if links is not None and (ids := tuple(linked_ids(links.read()))):
            found = ((name, one) for name, own in queries.items() for one in own.list(Filters(ids=ids)))
            self._linked = {-number: one for number, one in enumerate(found, 1)}

    @property
    def _rows(self) -> list[LinkedRow]:
        return [
            LinkedRow(
                number,
                source,
                one.head.id,
                "",
                one.tool,
                to_microseconds(one.head.created_at),
                to_microseconds(one.head.updated_at),
            )
            for number, (source, one) in self._linked.items()
        ]

    def entries(self, filters: Filters, limit: int) -> list[IndexEntry]:
        def ask(answers: Answers) -> tuple[Conversations, list[IndexEntry]]:
            found = answers.conversations(filters, self._rows)
            return found, answers.entries(filters, limit, found)

        conversations, entries = self._ask(ask)
        for source, queries in self._queries.items():
            grouped = self._grouped(source, conversations)
            listed = queries.list(filters, _more(limit, grouped))
            alone = (listed_entry(source, one) for one in listed if one.head.id not in grouped)
            entries += islice(alone, limit)
        entries += self._shown_elsewhere(conversations, filters)
        entries.sort(key=lambda entry: entry.updated_at, reverse=True)
        return entries[:limit]

    def candidates(self, text: str, filters: Filters) -> list[IndexEntry]:
        """The entries that a text may mean: of the index all, of the others as `queries.candidates` does."""

        def ask(answers: Answers) -> tuple[Conversations, list[IndexEntry]]:
            found = answers.conversations(filters, self._rows)
            return found, answers.entries(filters, LARGEST, found)

        conversations, entries = self._ask(ask)
        for source, queries in self._queries.items():
            grouped = self._grouped(source, conversations)
            found = candidates(queries, text, filters)
            entries += [listed_entry(source, one) for one in found if one.head.id not in grouped]
        entries += self._shown_elsewhere(conversations, filters)
        return sorted(entries, key=lambda entry: entry.updated_at, reverse=True)

    def hits(
        self, text: str, words: str, filters: Filters, limit: int, *, unfinished: bool, turns_first: bool
    ) -> list[SearchHit]:
        """`words` are the text as a query of the index."""

        def ask(answers: Answers) -> tuple[Conversations, list[SearchHit]]:
            found = answers.conversations(filters, self._rows)
            apart = self._without_mixed(found)
            return found, answers.hits(words, filters, limit, apart, turns_first=turns_first)

        conversations, hits = self._ask(ask)
        lists = [hits]
        for source, queries in self._queries.items():
            grouped = self._grouped(source, conversations)
            found = queries.search(text, filters, _more(limit, grouped), unfinished=unfinished, turns_first=turns_first)
            lists.append([_hit(source, one) for one in found if one.session.head.id not in grouped])
        lists.append(self._mixed_hits(text, words, filters, conversations, unfinished=unfinished))
        placed = chain.from_iterable(zip_longest(*lists))
        return list(islice((hit for hit in placed if hit is not None), limit))

    def count(self, text: str, words: str, filters: Filters, *, unfinished: bool) -> int:
        def ask(answers: Answers) -> tuple[Conversations, int]:
            found = answers.conversations(filters, self._rows)
            return found, answers.count(words, filters, self._without_mixed(found))

        conversations, count = self._ask(ask)
        for source, queries in self._queries.items():
            count += queries.count_matches(text, filters, unfinished=unfinished)
            if grouped := self._grouped(source, conversations):
                within = replace(filters, ids=tuple(grouped))
                count -= queries.count_matches(text, within, unfinished=unfinished)
        return count + len(self._mixed_hits(text, words, filters, conversations, unfinished=unfinished))

    # ── Conversations with sessions in a source that answers by itself ───────────────────────────────────────────────

    def _mixed_hits(
        self, text: str, words: str, filters: Filters, conversations: Conversations, *, unfinished: bool
    ) -> list[SearchHit]:
        mixed = [one for one in conversations.all if self._is_mixed(one) and is_within(one.updated_at, filters)]
        if not mixed:
            return []
        entries = self._mixed_entries(mixed, filters)
        inside = Filters(
            branch=filters.branch, ids=tuple({row.id for one in mixed for row in (one.first, *one.others)})
        )
        hits = self._ask(lambda answers: answers.hits(words, inside, LARGEST, Conversations(), turns_first=True))
        for source, queries in self._queries.items():
            found = queries.search(text, inside, None, turns_first=True, unfinished=unfinished)
            hits += [_hit(source, one) for one in found]
        by_place = {(hit.entry.source, hit.entry.id): hit for hit in hits}
        return [
            hit
            for one in mixed
            if one.shown in entries and (hit := _best_hit(one, entries[one.shown], by_place)) is not None
        ]

    def _mixed_entries(self, mixed: Sequence[Conversation], filters: Filters) -> dict[int, IndexEntry]:
        """The conversations that match, by the number of the row that is listed."""
        found = {
            one.shown: self._entry(one) for one in mixed if one.shown in self._linked and self._is_match(one, filters)
        }
        local = {(one.first.source, one.first.id): one for one in mixed if one.shown > 0}
        wanted = replace(filters, since=None, until=None, tool=None, ids=tuple(id for _, id in local))
        entries = self._ask(lambda answers: answers.entries(wanted, LARGEST, Conversations()))
        for entry in entries:
            one = local.get((entry.source, entry.id))
            if one is not None and filters.tool in {None, entry.tool, *(row.tool for row in one.others)}:
                found[one.shown] = _as_conversation(entry, one)
        return found

    def _is_mixed(self, one: Conversation) -> bool:
        return any(row.number in self._linked for row in (one.first, *one.others))

    def _without_mixed(self, conversations: Conversations) -> Conversations:
        """The same, where no row is shown for the conversations that are asked for one by one."""
        mixed = [one for one in conversations.all if self._is_mixed(one)]
        if not mixed:
            return conversations
        numbers = (row.number for one in mixed for row in (one.first, *one.others))
        rest = tuple(one for one in conversations.all if not self._is_mixed(one))
        return Conversations(all=rest, answers=(*conversations.answers, *numbers))

    def _grouped(self, source: str, conversations: Conversations) -> set[str]:
        """The ids in a source that are part of a conversation, and not entries of their own."""
        numbers = conversations.shown_for.keys()
        return {one.head.id for number, (name, one) in self._linked.items() if name == source and number in numbers}

    def _shown_elsewhere(self, conversations: Conversations, filters: Filters) -> list[IndexEntry]:
        """The conversations that match, of which a session is listed that the index does not have."""
        found = [one for one in conversations.all if one.shown in self._linked]
        return [self._entry(one) for one in found if self._is_match(one, filters)]

    def _is_match(self, one: Conversation, filters: Filters) -> bool:
        """Whether a conversation matches of which a session is listed that the index does not have."""
        _, session = self._linked[one.shown]
        in_tool = filters.tool in {row.tool for row in one.others}
        at_any_time = replace(filters, since=None, until=None, tool=None if in_tool else filters.tool)
        return is_within(one.updated_at, filters) and is_match(session, at_any_time)

    def _entry(self, one: Conversation) -> IndexEntry:
        return _as_conversation(listed_entry(*self._linked[one.shown]), one)


def _as_conversation(entry: IndexEntry, one: Conversation) -> IndexEntry:
    return replace(entry, copies=one.copies, updated_at=from_microseconds(one.updated_at))


def _best_hit(one: Conversation, entry: IndexEntry, hits: Mapping[tuple[str, str], SearchHit]) -> SearchHit | None:
    """The match in its own text, or else in a turn of a copy."""
    if (own := hits.get((one.first.source, one.first.id))) is not None:
        return replace(own, entry=entry)
    for copy in one.copies:
        hit = hits.get((copy.source, copy.id))
        if hit is not None and hit.is_in_turn:
            return replace(hit, entry=entry, copy=copy)
    return None


def _more(limit: int, hidden: Collection[str]) -> int | None:
    """A limit that is still enough when some are hidden."""
    return None if limit >= LARGEST else limit + len(hidden)


def listed_entry(source: str, one: ListedSession) -> IndexEntry:
    head = one.head
    return IndexEntry(
        source=source,
        id=head.id,
        tool=one.tool,
        agent=head.agent,
        title=head.title,
        tags=head.tags,
        status=head.status,
        branch=head.branch,
        project=one.project,
        folder=one.folder,
        summary=one.summary,
        turn_count=head.turn_count,
        git_branch=one.git_branch,
        usage=one.usage,
        created_at=head.created_at,
        updated_at=head.updated_at,
        damage=head.damage,
    )


def _hit(source: str, one: FoundSession) -> SearchHit:
    return SearchHit(
        entry=listed_entry(source, one.session),
        kind=one.kind,
        seq=one.seq,
        turn=one.turn,
        branch=one.branch,
        role=one.role,
        snippet=one.snippet,
        matches=one.matches,
    )
