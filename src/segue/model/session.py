"""What events add up to: a whole session, its overview without the turns, or its head for a listing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from segue.errors import NotFoundError, UsageError
from segue.model.events import (
    Attachment,
    Count,
    Decision,
    JsonObject,
    Learning,
    Moment,
    Pattern,
    PresetChosen,
    Record,
    TaskDone,
    Turn,
    Unknown,
)
from segue.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

MAIN = "main"


class Branch(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A named sequence of turns: the first `at` turns of `parent`, then `own` turns of its own."""

    name: str
    parent: str = ""
    """Empty for the first branch."""
    at: Count = 0
    own: Count = 0
    created_at: Moment

    @property
    def turn_count(self) -> int:
        return self.at + self.own


class HasBranches(Protocol):
    """Anything with the id and the branches of a session."""

    @property
    def id(self) -> str: ...

    @property
    def branches(self) -> Mapping[str, Branch]: ...


def get_branch(session: HasBranches, name: str) -> Branch:
    """The branch of this name. NotFoundError if there is none."""
    try:
        return session.branches[name]
    except KeyError:
        known = ", ".join(sorted(session.branches))
        raise NotFoundError(f"session {session.id} has no branch {name!r}", hint=f"it has {known}") from None


class Overview(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything about a session except its turns: small, however long the conversation is."""

    id: str
    agent: str
    created_at: Moment
    updated_at: Moment
    """The latest time of any event."""
    status: Status
    seq: Count
    """The number of the last event."""
    branch: str = MAIN
    """The active branch."""
    branches: dict[str, Branch]
    title: str = ""
    tags: tuple[str, ...] = ()
    summary: str = ""
    decisions: tuple[Decision, ...] = ()
    learnings: tuple[Learning, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    tasks_done: tuple[TaskDone, ...] = ()
    scope: JsonObject | None = None
    preset: PresetChosen | None = None
    overrides: JsonObject = {}
    records: dict[str, Record] = {}
    """The latest record of each name; the others are in the events alone."""
    version: Count = 0
    extra: JsonObject = {}

    @property
    def turn_count(self) -> int:
        """How many turns the active branch has."""
        return self.branches[self.branch].turn_count

    def get_branch(self, name: str) -> Branch:
        return get_branch(self, name)

    @property
    def framework(self) -> str:
        """The framework whose program continues the session; empty unless a bridge began it."""
        tool = self.extra.get("tool")
        is_of_bridge = tool == self.agent and {"name", "scope"} <= self.extra.keys()
        return self.agent if is_of_bridge else ""

    @property
    def tool(self) -> str:
        """Where it continues: its framework for good, or else the AI tool that had it last."""
        return self.framework or self.get_setting("tool")

    def get_setting(self, name: str) -> str:
        """The latest text under this name: a session may continue in another tool, and its folder may move."""
        value = self.overrides.get(name, self.extra.get(name))
        return value if isinstance(value, str) else ""


class Session(Overview, frozen=True, kw_only=True, omit_defaults=True):
    """One whole conversation."""

    own_turns: dict[str, tuple[Turn, ...]] = {}
    """By branch, without the turns that it shares with its parent."""
    unknown: tuple[Unknown, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the active branch, from the first on."""
        return self.path(self.branch)

    def tail(self, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        """The last turns of a branch (by default of the active one), oldest first. UsageError for a negative count."""
        _check_count(count)
        path = self.path(branch or self.branch)
        return path[max(0, len(path) - count) :]

    def path(self, name: str) -> tuple[Turn, ...]:
        """The turns of a branch from the first on, including those that it shares with the branches above it."""
        pieces: list[tuple[Turn, ...]] = []
        branch, upto = self.get_branch(name), None
        while True:
            own = self.own_turns.get(branch.name, ())
            pieces.append(own if upto is None else own[: max(0, upto - branch.at)])
            if branch.parent not in self.branches or len(pieces) > len(self.branches):  # a cycle in a damaged file
                return tuple(turn for piece in reversed(pieces) for turn in piece)
            upto = branch.at if upto is None else min(upto, branch.at)
            branch = self.branches[branch.parent]


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a listing needs of a session."""

    id: str
    agent: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    status: Status = "interrupted"
    branch: str = MAIN
    turn_count: Count = 0
    created_at: Moment
    updated_at: Moment
    """The last activity: see `last_activity`."""
    damage: str = ""
    """Why it cannot be read; empty if it can. If it cannot, only id and times are known."""


def own_turn_ranges(overview: Overview, branch: str, count: int | None = None) -> dict[str, tuple[int, int]]:
    """Where the turns of a branch (or its last `count` turns) are: by branch, the range of its own turns.

    A range is (after this one, up to that one). The turns are recorded in the order of the path.
    """
    if count is not None:
        _check_count(count)
    found: dict[str, tuple[int, int]] = {}
    here = overview.get_branch(branch)
    high = here.turn_count
    low = 0 if count is None else max(0, high - count)
    while True:
        found[here.name] = (max(low - here.at, 0), max(high - here.at, 0))
        if low >= here.at or here.parent in found or here.parent not in overview.branches:  # or a cycle
            return found
        high, here = min(high, here.at), overview.branches[here.parent]


def _check_count(count: int) -> None:
    if count < 0:
        raise UsageError(f"cannot give the last {count} turns")


def overview_of(session: Session) -> Overview:
    return Overview(**{name: getattr(session, name) for name in Overview.__struct_fields__})


_WRITING = timedelta(minutes=1)
"""An event is recorded a moment after its time; a later change of the file comes from another program."""


def last_activity(updated_at: datetime, changed: datetime | None) -> datetime:
    """The latest time of any event, or the last change of the files, whichever is later.

    Edits in another program have no time of their own, and the files of a copy may be old or new: neither makes a
    session older.
    """
    return updated_at if changed is None or changed - updated_at <= _WRITING else changed


def head_of(overview: Overview) -> Head:
    return Head(
        id=overview.id,
        agent=overview.agent,
        title=overview.title,
        tags=overview.tags,
        status=overview.status,
        branch=overview.branch,
        turn_count=overview.turn_count,
        created_at=overview.created_at,
        updated_at=overview.updated_at,
    )
