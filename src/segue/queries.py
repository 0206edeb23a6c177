"""The contract of a store that lists, filters and searches by itself: see `Store.queries`.

A store without it has its heads filtered, and its text copied into the local index. Both give the same answers.
"""

from __future__ import annotations

import string
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from segue.model import Head, Status, Usage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from segue.model import Record

Kind = Literal["title", "summary", "turn", "call", "decision", "learning"]
MOST = 1000
"""Sessions that are looked at where a store has very many, and the user has not said how many to show."""
NEAR = 50
"""Ids that are looked at on each side of what a user types."""
MOST_COUNTED = 10_000
"""Sessions from which counting the matches of a search may stop."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class Filters(Struct, frozen=True, kw_only=True):
    """Which sessions to show; None and empty mean all."""

    sources: tuple[str, ...] = ()
    """For callers with several sources; a store ignores it."""
    tool: str | None = None
    agent: str | None = None
    project: str | None = None
    folder: str | None = None
    """The folder where a session began, or one above it. With a project as well, either is enough."""
    status: Status | None = None
    tag: str | None = None
    branch: str | None = None
    """The branch of the match; for searches only."""
    named: str = ""
    """Words that must all occur in the id, title, agent, tool, tags or project."""
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[str, ...] | None = None
    """Exactly these sessions, where there are such."""


NO_FILTERS = Filters()


class ListedSession(Struct, frozen=True, kw_only=True):
    """What a listing shows of a session."""

    head: Head
    tool: str = ""
    project: str = ""
    folder: str = ""
    summary: str = ""
    git_branch: str = ""
    usage: Usage | None = None
    """What all turns used; None where that is not known."""


class IndexedText(Struct, frozen=True, kw_only=True, gc=False):
    """A text that can be found."""

    kind: Kind
    text: str
    seq: int = 0
    turn: int = 0
    """The number of a turn on its branch, from 1; 0 if it is not known."""
    branch: str = ""
    role: str = ""
    """The role of a turn; the name of a call."""


class FoundSession(Struct, frozen=True, kw_only=True):
    """A session that matches a search, with its best match."""

    session: ListedSession
    kind: Kind
    seq: int = 0
    turn: int = 0
    """The number of the turn on its branch, from 1; 0 if the match is not in a turn."""
    branch: str = ""
    role: str = ""
    snippet: tuple[tuple[str, bool], ...]
    """Parts of the text, each with whether it matches."""
    matches: int
    """The number of matches in the session."""


class Queries(Protocol):
    """Answers about all sessions of a store at the cost of what is returned. It writes nothing that users see.

    Threads may share it. An answer is of the moment when it is asked for.
    """

    def list(self, filters: Filters, limit: int | None = None) -> Iterator[ListedSession]:
        """The sessions that match every filter, the last active first; read in pages, as they are asked for.

        A session that cannot be read matches unless a filter needs its content.
        """

    def count(self, filters: Filters) -> int:
        """How many `list` gives without a limit."""

    def near_ids(self, texts: Collection[str], each: int) -> set[str]:
        """For each text, `each` ids before it and from it on, in the order of ids, and in that of reversed ids.

        So every id that begins or ends with a text is there, as far as there are not more of them; and what users may
        have meant.
        """

    def search(
        self,
        text: str,
        filters: Filters,
        limit: int | None = None,
        *,
        unfinished: bool = False,
        turns_first: bool = False,
    ) -> Sequence[FoundSession]:
        """The sessions in which all words of the text occur in one place, the best first, each with its best match.

        It finds what the local index finds. The last word of an `unfinished` text matches as a prefix. With
        `turns_first`, a turn is returned instead of a title if both match. UsageError if the text has no word.
        """

    def count_matches(self, text: str, filters: Filters, *, unfinished: bool = False) -> int:
        """How many sessions a search without a limit finds; from `MOST_COUNTED` on, there may be more."""

    def find_record(self, id: str, *, agent: str | None = None) -> tuple[str, Record] | None:
        """The record of a program with this event id, and the session that has it, of all or those of an agent.

        If several sessions have it, one of them; None if there is none. DamagedError if it cannot be read.
        """

    def turns(self, session_id: str, *, first: int = 0, branch: str = "", limit: int = 6) -> Sequence[IndexedText]:
        """The last turns of a session, or those from the seq `first` on, of all branches or one; in order."""


def candidates(queries: Queries, text: str, filters: Filters = NO_FILTERS) -> list[ListedSession]:
    """The sessions that a text of a user may mean by their ids and names, the last active first; at most `MOST` or so.

    A store may know the case of ASCII letters only, so other words are left to the caller. For an empty text, it is the
    last active sessions.
    """
    named = " ".join(word for word in text.split() if word.isascii())
    found = {one.head.id: one for one in queries.list(replace(filters, named=named), MOST)}
    if text and (near := queries.near_ids([text], NEAR)):
        found |= {one.head.id: one for one in queries.list(replace(filters, ids=tuple(near)))}
    return sorted(found.values(), key=lambda one: one.head.updated_at, reverse=True)


def is_match(session: ListedSession, filters: Filters) -> bool:
    """Whether a session matches every filter: what all stores and the index agree on."""
    head = session.head
    return (
        (filters.ids is None or head.id in filters.ids)
        and filters.tool in {None, session.tool}
        and filters.agent in {None, head.agent}
        and _is_in_place(session, filters)
        and (filters.status is None or (head.status == filters.status and not head.damage))
        and (filters.tag is None or filters.tag in head.tags)
        and _is_named(session, filters.named)
        and (filters.since is None or head.updated_at >= filters.since)
        and (filters.until is None or head.updated_at < filters.until)
    )


def _is_in_place(session: ListedSession, filters: Filters) -> bool:
    if filters.project is None and filters.folder is None:
        return True
    is_below = filters.folder is not None and f"{session.folder}/".startswith(f"{filters.folder}/")
    return is_below or (filters.project is not None and session.project == filters.project)


def _is_named(session: ListedSession, words: str) -> bool:
    head = session.head
    names = " ".join((head.id, head.title, head.agent, session.tool, " ".join(head.tags), session.project))
    folded = names.translate(_LOWER)
    return all(word.translate(_LOWER) in folded for word in words.split())
