"""What comes of looking: entries of a listing, hits of a search, and what can be asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.index.source import Kind
from segue.model import Status

if TYPE_CHECKING:
    import sqlite3

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_COPY = """(s.handed_from = '' OR NOT EXISTS (
    SELECT 1 FROM sessions AS o
    WHERE o.handed_to = s.id AND o.handed_to <> '' AND o.tool = s.tool AND s.handed_from IN (o.id, '*')
))"""
"""Whoever says that a tool goes on with them is believed if the tool's session says so too: only we write there."""
_NAMES = "lower(s.id || ' ' || s.title || ' ' || s.agent || ' ' || s.tool || ' ' || s.tags || ' ' || s.project)"


class IndexEntry(Struct, frozen=True, kw_only=True):
    """A session in a listing over many sources."""

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
    """None where the turns in the middle were not read yet."""
    created_at: datetime
    updated_at: datetime
    damage: str = ""


class SearchHit(Struct, frozen=True, kw_only=True):
    """The best place in a session where the words were found."""

    entry: IndexEntry
    kind: Kind
    seq: int
    branch: str
    role: str
    snippet: tuple[tuple[str, bool], ...]
    """Pieces of text, and whether each is what was searched for."""
    matches: int
    """How many places there are."""


class Filters(Struct, frozen=True, kw_only=True):
    """What to show; None and empty mean all."""

    sources: tuple[str, ...] = ()
    tool: str | None = None
    agent: str | None = None
    project: str | None = None
    folder: str | None = None
    """Where a session began, or below it. With a project as well, either will do."""
    status: Status | None = None
    tag: str | None = None
    branch: str | None = None
    """Of what was found: for searches alone."""
    named: str = ""
    """Words that must all stand in the id, title, agent, tool, tags or project."""
    since: datetime | None = None
    until: datetime | None = None


def conditions(filters: Filters, *, pieces: bool = False) -> tuple[str, dict[str, object]]:
    """As SQL over `sessions AS s` and, for a search, `pieces AS p`."""
    found: list[tuple[str, dict[str, object]]] = []
    if filters.sources:
        names = {f"source{number}": name for number, name in enumerate(filters.sources)}
        # The plus keeps SQLite from sorting all sessions of a source where the newest are wanted.
        found.append((f"+s.source IN ({', '.join(f':{name}' for name in names)})", dict(names)))
    exact = {"tool": filters.tool, "agent": filters.agent}
    found += [(f"s.{name} = :{name}", {name: value}) for name, value in exact.items() if value is not None]
    if filters.project is not None or filters.folder is not None:
        # Nothing equals NULL, so the one that is not asked for never matches.
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
        found.append(("s.updated_at >= :since", {"since": to_number(filters.since)}))
    if filters.until is not None:
        found.append(("s.updated_at < :until", {"until": to_number(filters.until)}))
    if pieces and filters.branch is not None:
        found.append(("p.branch = :branch", {"branch": filters.branch}))
    found.append((_NO_COPY, {}))
    values = {name: value for _, some in found for name, value in some.items()}
    return " AND ".join(condition for condition, _ in found), values


def entry_of(row: sqlite3.Row) -> IndexEntry:
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
        created_at=to_moment(row["created_at"]),
        updated_at=to_moment(row["updated_at"]),
        damage=row["damage"],
    )


def to_number(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def to_moment(number: int) -> datetime:
    """Also of what a catalog of another make says: the last moment for all that comes after it."""
    return _EPOCH + max(_FIRST, min(number, _LAST)) * _MICROSECOND


_FIRST = to_number(datetime.min.replace(tzinfo=UTC))
_LAST = to_number(datetime.max.replace(tzinfo=UTC))
