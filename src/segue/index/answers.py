"""Answers from the tables of the index, each of one moment: the caller begins a transaction before.

With links, the sessions of one conversation are one answer.
"""

from __future__ import annotations

import json
import sqlite3
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.formats.fts_query import BEGIN, END, split_snippet
from segue.index.conversations import Conversations, LinkedRow, find_conversations, linked_ids
from segue.index.entry import LARGEST, Copy, SearchHit, as_json, clean, conditions, entry_of, is_within
from segue.index.statements import query
from segue.queries import Filters, IndexedText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.index.conversations import Conversation
    from segue.index.entry import IndexEntry
    from segue.links import Links

_IS_ALONE = "s.number NOT IN (SELECT value FROM json_each(:grouped))"
_IS_SHOWN = "s.number IN (SELECT value FROM json_each(:shown))"
_SHOWN_FOR = """CASE WHEN p.session IN (SELECT value FROM json_each(:grouped))
    THEN (SELECT value FROM json_each(:shown_for) WHERE key = CAST(p.session AS TEXT)) ELSE p.session END"""


class Answers:
    def __init__(self, connection: sqlite3.Connection, links: Links | None) -> None:
        self._connection = connection
        self._links = links

    def conversations(self, filters: Filters, elsewhere: Sequence[LinkedRow] = ()) -> Conversations:
        """The conversations among the sessions of the index, and among those that it does not have."""
        links = self._links.read() if self._links is not None else ()
        if not links:
            return Conversations()
        rows = self._connection.execute(query("linked"), {"ids": as_json(linked_ids(links))})
        return find_conversations(links, [*(LinkedRow(*row) for row in rows), *elsewhere], filters.sources)

    def entries(self, filters: Filters, limit: int, conversations: Conversations) -> list[IndexEntry]:
        """Sessions in the order of their last activity, and among them the conversations, which are few."""
        in_tool = conversations.in_tool(filters.tool) if filters.tool is not None else ()
        condition, values = conditions(filters)
        values["limit"] = limit
        if shown_for := conversations.shown_for:
            condition, values["grouped"] = f"{condition} AND {_IS_ALONE}", as_json(shown_for)
        alone = [entry_of(row) for row in self._ask(query("listed").format(filters=condition), values)]
        if not (shown := conversations.shown):
            return alone
        condition, values = conditions(_at_any_time(filters), in_tool=in_tool)
        statement = query("listed").format(filters=f"{condition} AND {_IS_SHOWN}")
        within = [number for number, one in shown.items() if is_within(one.updated_at, filters)]
        rows = self._ask(statement, values | {"limit": LARGEST, "shown": as_json(within)})
        together = [entry_of(row, shown[row["number"]]) for row in rows]
        together.sort(key=lambda entry: entry.updated_at, reverse=True)
        return list(islice(merge(together, alone, key=lambda entry: entry.updated_at, reverse=True), limit))

    def ids(self, sources: Sequence[str]) -> set[str]:
        statement = query("ids_of")
        return {row[0] for source in sources for row in self._connection.execute(statement, (source,))}

    def hits(
        self, words: str, filters: Filters, limit: int, conversations: Conversations, *, turns_first: bool
    ) -> list[SearchHit]:
        statement, values = self._search_statement("matches", words, filters, conversations)
        shown = conversations.shown
        return [
            self._hit(words, row, shown.get(row["session"]), turns_first=turns_first)
            for row in self._ask(statement, values | {"limit": limit})
        ]

    def count(self, words: str, filters: Filters, conversations: Conversations) -> int:
        statement, values = self._search_statement("count_matches", words, filters, conversations)
        return int(self._ask(statement, values)[0][0])

    def _search_statement(
        self, name: str, words: str, filters: Filters, conversations: Conversations
    ) -> tuple[str, dict[str, object]]:
        in_tool = conversations.in_tool(filters.tool) if filters.tool is not None else ()
        condition, values = conditions(_at_any_time(filters), in_tool=in_tool, for_search=True)
        time, times = conditions(Filters(since=filters.since, until=filters.until))
        values |= {"words": words, **times}
        if not (shown_for := conversations.shown_for):
            return query(name).format(filters=f"{condition} AND {time}", shown="p.session"), values
        within = [one.shown for one in conversations.all if is_within(one.updated_at, filters)]
        values |= {"grouped": as_json(shown_for), "shown_for": json.dumps(shown_for), "shown": as_json(within)}
        return query(name).format(
            filters=f"{condition} AND CASE WHEN {_IS_ALONE} THEN {time} ELSE {_IS_SHOWN} END", shown=_SHOWN_FOR
        ), values

    def _hit(
        self, words: str, found: sqlite3.Row, conversation: Conversation | None, *, turns_first: bool
    ) -> SearchHit:
        values = {"words": words, "piece": found["piece"], "begin": BEGIN, "end": END}
        if turns_first and found["kind"] == "title" and found["matches"] > 1:
            turns = self._ask(query("matching_turn"), {"words": words, "session": found["session"]})
            values["piece"] = turns[0][0] if turns else found["piece"]
        row = self._ask(query("shown"), values)[0]
        is_copied = row["number"] != found["session"]
        entry = row if not is_copied else self._ask(query("by_number"), {"number": found["session"]})[0]
        return SearchHit(
            entry=entry_of(entry, conversation),
            kind=row["kind"],
            seq=row["seq"],
            turn=row["turn"],
            branch=row["found_on"],
            role=row["role"],
            snippet=split_snippet(row["snippet"]),
            matches=found["matches"],
            copy=Copy(source=row["source"], id=row["id"], tool=row["tool"]) if is_copied else None,
        )

    def turns(self, entry: IndexEntry | Copy, first: int, branch: str, limit: int) -> list[IndexedText]:
        statement = query("turns").format(order="ASC" if first else "DESC")
        values = {"source": entry.source, "id": entry.id, "first": first, "branch": branch, "limit": limit}
        return sorted((IndexedText(**row) for row in self._ask(statement, values)), key=lambda text: text.seq)

    def find_record(self, source: str, id: str, agent: str | None) -> list[tuple[str, int]]:
        values = {"source": source, "id": clean(id), "agent": clean(agent)}
        return [(row["id"], row["seq"]) for row in self._ask(query("find_record"), values)]

    def _ask(self, statement: str, values: dict[str, object]) -> list[sqlite3.Row]:
        cursor = self._connection.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor.execute(statement, values).fetchall()


def _at_any_time(filters: Filters) -> Filters:
    """The filters without a time: a conversation was active when any of its sessions was."""
    return replace(filters, since=None, until=None)
