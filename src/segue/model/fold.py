"""Builds a session from its events. Pure: the same events give the same session in every store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from segue.errors import UsageError
from segue.model.events import (
    Attachment,
    BranchCreated,
    BranchSwitched,
    Decision,
    Event,
    Learning,
    Metadata,
    OverridesChanged,
    Pattern,
    PresetChosen,
    Record,
    ScopeChanged,
    StatusChanged,
    SummaryWritten,
    TagsChanged,
    TaskDone,
    TitleChanged,
    Turn,
    Unknown,
)
from segue.model.session import MAIN, Branch, Overview, Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def initial_overview(event: Metadata) -> Overview:
    """The session after its first event."""
    return Overview(
        id=event.session_id,
        agent=event.agent,
        created_at=event.created_at,
        updated_at=event.created_at,
        status=event.status,
        seq=event.seq,
        branches={MAIN: Branch(name=MAIN, created_at=event.created_at)},
        title=event.title,
        tags=event.tags,
        version=event.version,
        extra=event.extra,
    )


class OverviewBuilder:
    """Builds an overview event by event, with lists instead of tuples, so that each event costs the same."""

    def __init__(self, overview: Overview) -> None:
        self.id = overview.id
        self.seq = overview.seq
        self._before = overview
        self._updated_at = overview.updated_at
        self._branch = overview.branch
        self._branches = overview.branches
        self._owns_branches = False  # copied when the first of them changes
        self._turns: list[Turn] = []  # not counted yet
        self._values: dict[str, object] = {}  # by field: the latest value
        self._records = overview.records
        self._owns_records = False  # copied when the first of them changes
        self._more: dict[str, list[Event]] = {}  # by field: the added items

    @property
    def overview(self) -> Overview:
        """The session after all events so far."""
        branches = self.branches
        self._owns_branches = self._owns_records = False
        more = {name: (*getattr(self._before, name), *events) for name, events in self._more.items()}
        changed = {**self._values, **more, "branch": self._branch, "branches": branches, "records": self._records}
        return replace(self._before, seq=self.seq, updated_at=self._updated_at, **changed)

    @property
    def branches(self) -> dict[str, Branch]:
        if self._turns:
            self._count()
        return self._branches

    def add_turns(self, turns: Sequence[Turn]) -> None:
        if turns:
            self._turns += turns
            self.seq = turns[-1].seq

    def add(self, event: Event) -> None:  # noqa: C901, PLR0912 - one case per event type, none nested
        self.seq = event.seq
        if isinstance(event, Turn):
            self._turns.append(event)
            return
        if isinstance(event, Unknown | Metadata):  # only the first metadata counts
            return
        self._updated_at = max(self._updated_at, event.timestamp)
        match event:
            case Decision() | Learning() | Pattern() | Attachment() | TaskDone():
                self._more.setdefault(_LISTS[type(event)], []).append(event)
            case StatusChanged():
                self._values["status"] = event.status
            case TitleChanged():
                self._values["title"] = event.title
            case TagsChanged():
                self._values["tags"] = event.tags
            case SummaryWritten():
                self._values["summary"] = event.content
            case ScopeChanged():
                self._values["scope"] = event.scope
            case PresetChosen():
                self._values["preset"] = event
            case OverridesChanged():
                self._values["overrides"] = event.values
            case Record():
                self._add_record(event)
            case BranchCreated():
                self._add_branch(event)
            case BranchSwitched() if event.branch in self.branches:
                self._branch = event.branch

    def _add_branch(self, event: BranchCreated) -> None:
        if event.parent in self.branches and event.name not in self.branches:
            self._put(Branch(name=event.name, parent=event.parent, at=event.at, created_at=event.timestamp))
        if event.switch and event.name in self.branches:
            self._branch = event.name

    def _add_record(self, event: Record) -> None:
        if not event.name:
            return
        if not self._owns_records:
            self._records, self._owns_records = dict(self._records), True
        if event.data or event.blobs:
            self._records[event.name] = event
        else:
            self._records.pop(event.name, None)

    def _put(self, branch: Branch) -> None:
        if not self._owns_branches:
            self._branches, self._owns_branches = dict(self._branches), True
        self._branches[branch.name] = branch

    def _count(self) -> None:
        """Add the turns to the counts of their branches; a branch whose beginning was lost starts empty."""
        turns, self._turns = self._turns, []
        self._updated_at = max([self._updated_at, *[turn.timestamp for turn in turns]])
        counts = Counter([turn.branch for turn in turns])
        is_known = all(name in self._branches for name in counts)
        firsts = {} if is_known else {turn.branch: turn.timestamp for turn in reversed(turns)}
        for name, count in counts.items():
            branch = self._branches.get(name) or Branch(name=name, created_at=firsts[name])
            self._put(replace(branch, own=branch.own + count))


_LISTS: dict[type[Event], str] = {
    Decision: "decisions",
    Learning: "learnings",
    Pattern: "patterns",
    Attachment: "attachments",
    TaskDone: "tasks_done",
}


def apply(overview: Overview, *events: Event) -> Overview:
    """The session after some more events; turns are counted and not stored."""
    builder = OverviewBuilder(overview)
    for event in events:
        builder.add(event)
    return builder.overview


def apply_turns(overview: Overview, turns: Sequence[Turn]) -> Overview:
    """Like `apply`, for turns alone."""
    builder = OverviewBuilder(overview)
    builder.add_turns(turns)
    return builder.overview


def fold(events: Iterable[Event]) -> Session:
    """The session that the events describe. Raises UsageError if the first is not its metadata."""
    iterator = iter(events)
    first = next(iterator, None)
    if not isinstance(first, Metadata):
        raise UsageError("a session must begin with its metadata")
    builder = OverviewBuilder(initial_overview(first))
    own: dict[str, list[Turn]] = {MAIN: []}
    unknown: list[Unknown] = []
    pending: list[Turn] = []  # counted together: a long conversation is mostly turns
    branch, keep = MAIN, own[MAIN].append
    for event in iterator:
        if type(event) is Turn:
            if event.branch != branch:
                branch = event.branch
                keep = own.setdefault(branch, []).append
            keep(event)
            pending.append(event)
            continue
        builder.add_turns(pending)
        pending.clear()
        if isinstance(event, Unknown):
            unknown.append(event)
        builder.add(event)
    builder.add_turns(pending)
    return Session(
        **asdict(builder.overview),
        own_turns={name: tuple(turns) for name, turns in own.items() if turns},
        unknown=tuple(unknown),
    )
