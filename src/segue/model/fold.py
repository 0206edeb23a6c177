"""From events to a session. Pure: the same events give the same session, in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from segue.errors import UsageError
from segue.model.events import (
    Attachment,
    BranchCreated,
    Decision,
    Event,
    Learning,
    Metadata,
    Overrides,
    Pattern,
    Preset,
    Scope,
    StatusChanged,
    Summary,
    Switched,
    Tags,
    TaskDone,
    Title,
    Turn,
    Unknown,
)
from segue.model.session import MAIN, Branch, Overview, Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def begin(event: Metadata) -> Overview:
    """The session as it is after its first event."""
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


def apply(overview: Overview, event: Event) -> Overview:  # noqa: C901, PLR0911, PLR0912 - one case an event type, none nested
    """The session as it is after one more event; turns are counted, not kept."""
    if isinstance(event, Turn):
        return _count(overview, (event,))
    if isinstance(event, Unknown | Metadata):  # of metadata, only the first counts
        return replace(overview, seq=event.seq)
    overview = replace(overview, seq=event.seq, updated_at=max(overview.updated_at, event.timestamp))
    match event:
        case StatusChanged():
            return replace(overview, status=event.status)
        case Title():
            return replace(overview, title=event.title)
        case Tags():
            return replace(overview, tags=event.tags)
        case Summary():
            return replace(overview, summary=event.content)
        case Decision():
            return replace(overview, decisions=(*overview.decisions, event))
        case Learning():
            return replace(overview, learnings=(*overview.learnings, event))
        case Pattern():
            return replace(overview, patterns=(*overview.patterns, event))
        case Attachment():
            return replace(overview, attachments=(*overview.attachments, event))
        case TaskDone():
            return replace(overview, tasks_done=(*overview.tasks_done, event))
        case Scope():
            return replace(overview, scope=event.scope)
        case Preset():
            return replace(overview, preset=event)
        case Overrides():
            return replace(overview, overrides=event.values)
        case BranchCreated():
            branch = Branch(name=event.name, parent=event.parent, at=event.at, created_at=event.timestamp)
            known = event.parent in overview.branches and event.name not in overview.branches
            branches = {**overview.branches, event.name: branch} if known else overview.branches
            current = event.name if event.switch and event.name in branches else overview.branch
            return replace(overview, branches=branches, branch=current)
        case Switched():
            return replace(overview, branch=event.branch) if event.branch in overview.branches else overview


def fold(events: Iterable[Event]) -> Session:
    """Everything the events say. Raises UsageError if the first is no metadata."""
    iterator = iter(events)
    first = next(iterator, None)
    if not isinstance(first, Metadata):
        raise UsageError("a session begins with its metadata")
    overview = begin(first)
    own: dict[str, list[Turn]] = {MAIN: []}
    unknown: list[Unknown] = []
    pending: list[Turn] = []  # counted by the run: a long conversation is mostly turns
    branch, keep = MAIN, own[MAIN].append
    for event in iterator:
        if type(event) is Turn:
            if event.branch != branch:
                branch = event.branch
                keep = own.setdefault(branch, []).append
            keep(event)
            pending.append(event)
            continue
        overview = apply_turns(overview, pending)
        pending = []
        if isinstance(event, Unknown):
            unknown.append(event)
        overview = apply(overview, event)
    overview = apply_turns(overview, pending)
    return Session(
        **asdict(overview),
        own_turns={name: tuple(turns) for name, turns in own.items() if turns},
        unknown=tuple(unknown),
    )


def _count(overview: Overview, run: Sequence[Turn]) -> Overview:
    """Add turns of one branch to it; a branch whose beginning was lost starts empty."""
    branches, name = overview.branches, run[0].branch
    branch = branches.get(name) or Branch(name=name, created_at=run[0].timestamp)
    return replace(
        overview,
        seq=run[-1].seq,
        updated_at=max([overview.updated_at, *[turn.timestamp for turn in run]]),
        branches={**branches, name: replace(branch, own=branch.own + len(run))},
    )


def apply_turns(overview: Overview, turns: Sequence[Turn]) -> Overview:
    """As `apply` of each in turn, at once."""
    if not turns:
        return overview
    by_branch: dict[str, list[Turn]] = {}
    for turn in turns:
        by_branch.setdefault(turn.branch, []).append(turn)
    for run in by_branch.values():
        overview = _count(overview, run)
    return replace(overview, seq=turns[-1].seq)
