"""Sessions that are one conversation: those that the links of this machine connect. One of them is shown for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from segue.index.entry import Copy
from segue.links import place_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from segue.links import Link

_Node = tuple[str, str, int | None]
"""A session of a store (its place, its id, when it was created), or of an AI tool (the tool, its id, None)."""


class LinkedRow(Struct, frozen=True, gc=False):
    """A session whose id occurs in a link: a row of the index, or with a negative number one that it does not have."""

    number: int
    source: str
    id: str
    launch: str
    tool: str
    created_at: int
    updated_at: int


class Conversation(Struct, frozen=True, kw_only=True):
    """The rows of one conversation."""

    first: LinkedRow
    """The row that is listed."""
    updated_at: int
    """When any of them was last active."""
    others: tuple[LinkedRow, ...]

    @property
    def shown(self) -> int:
        """The number of the row that is listed."""
        return self.first.number

    @property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(Copy(source=row.source, id=row.id, tool=row.tool) for row in self.others)


class Conversations(Struct, frozen=True, kw_only=True):
    """All conversations of more than one row."""

    all: tuple[Conversation, ...] = ()
    answers: tuple[int, ...] = ()
    """Rows that an AI tool made when it answered as an agent: parts of a conversation, and never listed."""

    @property
    def shown(self) -> dict[int, Conversation]:
        return {one.shown: one for one in self.all}

    @property
    def shown_for(self) -> dict[int, int]:
        """By row, the row that is listed for it; 0 if none is."""
        found = dict.fromkeys(self.answers, 0)
        for one in self.all:
            found |= {one.shown: one.shown} | {row.number: one.shown for row in one.others}
        return found

    def in_tool(self, tool: str) -> list[int]:
        """The rows that are listed for a session of this tool."""
        return [one.shown for one in self.all if any(row.tool == tool for row in one.others)]


def linked_ids(links: Iterable[Link]) -> list[str]:
    return sorted({id for link in links for id in (link.native_id, link.session)})


def find_conversations(links: Sequence[Link], rows: Iterable[LinkedRow], sources: Collection[str]) -> Conversations:
    """The conversations among the rows of these sources, or of all; what is not among them hides nothing."""
    parents: dict[_Node, _Node] = {}
    answers, handed_over = set(), set()
    for link in links:
        ours, theirs = (link.place, link.session, link.created_at), (link.tool, link.native_id, None)
        if link.how == "answer":
            answers.add(theirs)
            continue
        if link.how == "handover":
            handed_over.add(ours)
        parents[_root(parents, theirs)] = _root(parents, ours)
    groups: dict[_Node, list[tuple[LinkedRow, _Node]]] = {}
    hidden: list[int] = []
    places: dict[str, str] = {}
    for row in rows:
        if sources and row.source not in sources:
            continue
        if row.source not in places:
            places[row.source] = place_of(row.source)
        nodes = _nodes(row, places[row.source])
        if any(node in answers for node in nodes):
            hidden.append(row.number)
        elif (node := next((node for node in nodes if node in parents), None)) is not None:
            groups.setdefault(_root(parents, node), []).append((row, node))
    found = [_conversation(members, handed_over) for members in groups.values() if len(members) > 1]
    return Conversations(all=tuple(found), answers=tuple(hidden))


def _conversation(members: list[tuple[LinkedRow, _Node]], handed_over: Collection[_Node]) -> Conversation:
    """A session of a store is shown before one of a tool, one that was handed over before an import of that."""

    def rank(member: tuple[LinkedRow, _Node]) -> tuple[bool, bool, int]:
        row, node = member
        return node[2] is None, node not in handed_over, -row.updated_at

    (first, _), *rest = sorted(members, key=rank)
    latest = max(row.updated_at for row, _ in members)
    return Conversation(first=first, updated_at=latest, others=tuple(row for row, _ in rest))


def _nodes(row: LinkedRow, place: str) -> list[_Node]:
    """What a link may call it; a store may round the time of creation."""
    tool = row.source.partition(":")[0]
    theirs: list[_Node] = [(tool, id, None) for id in (row.id, row.launch) if id]
    created = row.created_at // 1_000_000
    return [*theirs, *((place, row.id, second) for second in (created, created + 1, created - 1))]


def _root(parents: dict[_Node, _Node], node: _Node) -> _Node:
    parents.setdefault(node, node)
    while parents[node] != node:
        parents[node] = node = parents[parents[node]]
    return node
