"""What the index returns: entries of a listing, hits of a search; and the filters for both as SQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.formats.fts_query import clean_text
from segue.model import Usage, parse_usage
from segue.queries import Kind

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from segue.index.conversations import Conversation
    from segue.queries import Filters

LARGEST = 1 << 62
"""The largest number in the index; as a limit, all."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NAMES = "lower(s.id || ' ' || s.title || ' ' || s.agent || ' ' || s.tool || ' ' || s.tags || ' ' || s.project)"


class Copy(Struct, frozen=True, kw_only=True):
    """Another session of the same conversation."""

    source: str
    id: str
    tool: str = ""


class IndexEntry(Struct, frozen=True, kw_only=True):
    """A conversation in a listing over many sources: its session, and where else it is."""

    source: str
    id: str
    tool: str = ""
    agent: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    status: str
    branch: str = ""
    project: str = ""
    folder: str = ""
    summary: str = ""
    turn_count: int | None = 0
    """None where the middle of the session has not been read yet."""
    git_branch: str = ""
    usage: Usage | None = None
    """What all turns used; None where not all of them have been read yet."""
    created_at: datetime
    updated_at: datetime
    damage: str = ""
    copies: tuple[Copy, ...] = ()


class SearchHit(Struct, frozen=True, kw_only=True):
    """A session that matches, with its best match."""

    entry: IndexEntry
    kind: Kind
    seq: int
    turn: int
    """The number of the turn on its branch, from 1; 0 if the match is not a turn, or its number is not known."""
    branch: str
    role: str
    snippet: tuple[tuple[str, bool], ...]
    """Parts of the text, each with whether it matches."""
    matches: int
    """The number of matches in the session."""
    copy: Copy | None = None
    """The session with the match, if only another session of the conversation has it."""

    @property
    def is_in_turn(self) -> bool:
        """Whether the match is in the text of a turn, or in a call that it made."""
        return self.kind in {"turn", "call"}

    @property
    def call(self) -> str:
        """The name of the call whose arguments match; empty for any other match."""
        return self.role if self.kind == "call" else ""


def conditions(
    filters: Filters, *, in_tool: Sequence[int] = (), for_search: bool = False
) -> tuple[str, dict[str, object]]:
    """The filters as SQL over `sessions AS s` and, for a search, `pieces AS p`; and its parameters.

    `in_tool` are rows that a filter for a tool accepts as well.
    """
    found: list[tuple[str, dict[str, object]]] = []
    if filters.sources:
        names = {f"source{number}": name for number, name in enumerate(filters.sources)}
        # The plus keeps SQLite from sorting all sessions of a source where the newest are wanted.
        found.append((f"+s.source IN ({', '.join(f':{name}' for name in names)})", dict(names)))
    if filters.ids is not None:
        found.append(("s.id IN (SELECT value FROM json_each(:ids))", {"ids": as_json(filters.ids)}))
    if filters.tool is not None:
        or_copied = "s.number IN (SELECT value FROM json_each(:in_tool))"
        found.append((f"(s.tool = :tool OR {or_copied})", {"tool": filters.tool, "in_tool": as_json(in_tool)}))
    if filters.agent is not None:
        found.append(("s.agent = :agent", {"agent": filters.agent}))
    if filters.project is not None or filters.folder is not None:
        # Nothing equals NULL, so a filter that is not set never matches.
        below = "substr(s.folder || '/', 1, length(:folder) + 1) = :folder || '/'"
        places = {"project": filters.project, "folder": filters.folder}
        found.append((f"(s.project = :project OR {below})", dict(places)))
    for number, word in enumerate(filters.named.split()):
        found.append((f"instr({_NAMES}, lower(:named{number}))", {f"named{number}": word}))
    if filters.status is not None:
        found.append(("s.status = :status AND s.damage = ''", {"status": filters.status}))
    if filters.tag is not None:
        found.append(("instr(s.tags, :tag)", {"tag": f"\n{filters.tag}\n"}))
    if filters.since is not None:
        found.append(("s.updated_at >= :since", {"since": to_microseconds(filters.since)}))
    if filters.until is not None:
        found.append(("s.updated_at < :until", {"until": to_microseconds(filters.until)}))
    if for_search and filters.branch is not None:
        found.append(("p.branch = :branch", {"branch": filters.branch}))
    # As they are stored.
    values = {name: clean(value) for _, some in found for name, value in some.items()}
    return " AND ".join(condition for condition, _ in found) or "1", values


def clean(value: object) -> object:
    """Remove what SQLite cannot store: surrogates, large numbers, and the marks that we use in snippets."""
    if isinstance(value, int):
        return max(-LARGEST, min(value, LARGEST))
    return clean_text(value) if isinstance(value, str) else value


def is_within(microseconds: int, filters: Filters) -> bool:
    """Whether what was last active then is in the time that the filters allow."""
    is_since = filters.since is None or microseconds >= to_microseconds(filters.since)
    return is_since and (filters.until is None or microseconds < to_microseconds(filters.until))


def as_json(values: Iterable[object]) -> str:
    """A list of any length as one parameter, for `json_each`."""
    return json.dumps(list(values))


def entry_of(row: sqlite3.Row, conversation: Conversation | None = None) -> IndexEntry:
    return IndexEntry(
        source=row["source"],
        id=row["id"],
        tool=row["tool"],
        agent=row["agent"],
        title=row["title"],
        tags=tuple(filter(None, row["tags"].split("\n"))),
        status=row["status"],
        branch=row["branch"],
        project=row["project"],
        folder=row["folder"],
        summary=row["summary"],
        turn_count=row["turn_count"],
        git_branch=row["git_branch"],
        usage=parse_usage(json.loads(row["usage"])) if row["has_usage"] else None,
        created_at=from_microseconds(row["created_at"]),
        updated_at=from_microseconds(row["updated_at"] if conversation is None else conversation.updated_at),
        damage=row["damage"],
        copies=() if conversation is None else conversation.copies,
    )


def to_microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(number: int) -> datetime:
    """The time; the nearest possible one for a number that a damaged index holds."""
    return _EPOCH + max(_FIRST, min(number, _LAST)) * _MICROSECOND


_FIRST = to_microseconds(datetime.min.replace(tzinfo=UTC))
_LAST = to_microseconds(datetime.max.replace(tzinfo=UTC))
