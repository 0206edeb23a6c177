"""Builds the events of a session from all its files: ours, and what users and other programs have changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from msgspec.structs import replace

from segue.dialects.gptel.format.conversation import TextPiece, displayable
from segue.dialects.gptel.format.edits import FROM_TEXT, count_shown_turns, is_cut, turns_in
from segue.dialects.gptel.format.fields import find_fields, moment_field, text_field
from segue.dialects.gptel.format.footer import read_mark, read_page
from segue.dialects.gptel.format.names import ACTIVITY, BRANCHES, SESSION
from segue.dialects.gptel.format.said import SaidTimes
from segue.dialects.gptel.format.settings import changed_overrides, changed_preset, changed_variables, variables_of
from segue.errors import Damage
from segue.formats.records import encode_indented, event_to_object
from segue.model import (
    EPOCH,
    MAIN,
    BranchCreated,
    BranchSwitched,
    Metadata,
    OverridesChanged,
    PresetChosen,
    ScopeChanged,
    StatusChanged,
    Turn,
    Unknown,
    fold,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from segue.dialects.gptel.format.edits import TurnOrText
    from segue.dialects.gptel.format.footer import BufferPage, FooterMark
    from segue.model import Event, JsonObject, Session

EDITED = "edited"
"""The type of the event with the turns that users added or removed, and checksums of the files."""


class BranchFiles(NamedTuple):
    """The files in the folder of a branch."""

    session: bytes
    """session.md; empty if there is none."""
    lineage: bytes | None = None
    """branch-metadata.yml."""
    scope: bytes | None = None
    """scope.yml, if another program or the user wrote it."""


class Files(NamedTuple):
    """The files in the folder of a session, except our events."""

    branches: Mapping[str, BranchFiles]
    current: str
    """The branch that `current` points to; empty if it points to none."""
    metadata: bytes | None = None
    """metadata.yml of that branch."""
    times: Callable[[str], SaidTimes] = lambda _: SaidTimes()
    """When the texts of a branch were said."""


class Assembled(NamedTuple):
    events: list[Event]
    damages: tuple[Damage, ...]
    is_changed: bool
    """Whether the files contain more than our events."""
    edits: int
    """How many edits were imported, including this one."""
    chosen: Mapping[str, Mapping[str, object]] = {}
    """By the name of a branch that is not active: the variables that the user set in its file.

    They wait there until the branch is active: a session has one preset, and one set of overrides.
    """


def assemble_session(session_id: str, events: list[Event], files: Files, *, is_recovery: bool = False) -> Assembled:
    """The session of all files. `events` are ours, undamaged and numbered; none if we never wrote here.

    In a recovery, events may have been lost. Then only what users have written since is taken from the texts.
    """
    marks = {name: read_mark(branch.session) for name, branch in files.branches.items()}
    for name in find_leftover_branches(events, marks):
        del marks[name]
    files = files._replace(branches={name: files.branches[name] for name in marks})
    edits = count_edits(events)
    if events and _is_as_we_left_it(events, marks, files):
        return Assembled(events, (), is_changed=False, edits=edits)
    return _Assembly(session_id, events, files, edits, is_recovery=is_recovery).build()


def count_edits(events: Iterable[Event]) -> int:
    return sum(isinstance(event, Unknown) and event.type == EDITED for event in events)


def without_branch(events: list[Event], name: str) -> list[Event]:
    """The events without this branch, and one event that contains what it was."""
    made = [event for event in events if isinstance(event, BranchCreated) and event.name == name]
    own_events = [event for event in events if isinstance(event, Turn | BranchSwitched) and event.branch == name]
    removed = [event_to_object(event) for event in (*made, *own_events)]
    gone = {event.seq for event in (*made, *own_events)}
    note = Unknown(type=EDITED, data={"branch": name, "added": [], "removed": removed}, id=f"removed-{events[-1].seq}")
    remaining = [*[event for event in events if event.seq not in gone], note]
    return [replace(event, seq=seq) for seq, event in enumerate(remaining, start=1)]


def find_leftover_branches(events: Iterable[Event], marks: Mapping[str, FooterMark | None]) -> list[str]:
    """Folders of removed branches that still exist, since the process that removed them was killed."""
    gone = removed_branches(events)
    return [name for name, mark in marks.items() if name in gone and mark is not None and mark.is_pristine]


def removed_branches(events: Iterable[Event]) -> set[str]:
    """The names of branches that were removed."""
    removed: set[str] = set()
    for event in events:
        if isinstance(event, Unknown) and event.type == EDITED and isinstance(name := event.data.get("branch"), str):
            removed.add(name)
        elif isinstance(event, BranchCreated):
            removed.discard(event.name)
    return removed


def _is_as_we_left_it(events: list[Event], marks: Mapping[str, FooterMark | None], files: Files) -> bool:
    session = fold(events)
    return all(
        name in session.branches
        and branch.scope is None
        and (_is_ours(marks[name], session, name) if branch.session else marks[name] is None)
        for name, branch in files.branches.items()
    )


def _is_ours(mark: FooterMark | None, session: Session, branch: str) -> bool:
    """Whether the file is as we wrote it and agrees with our events, which may be older or those of another copy."""
    is_alike = mark is not None and mark.is_pristine and mark.upto.seq <= session.seq
    return is_alike and count_shown_turns(mark, session.path(branch)) is not None


class _Assembly:
    def __init__(
        self, session_id: str, events: list[Event], files: Files, edits: int, *, is_recovery: bool = False
    ) -> None:
        self._is_new = not events
        self._is_recovery = is_recovery
        self._files = files
        self._about = (find_fields(files.metadata) or {}) if not events else {}
        self._pages = {name: read_page(branch.session) for name, branch in files.branches.items()}
        self._edits = edits
        self._events: list[Event] = events or [_born(session_id, self._about)]
        self._session: Session = fold(self._events)
        self._taken_in = _taken_in(events)
        self._paths: dict[str, list[TurnOrText]] = {}
        self._damages: list[Damage] = []
        self._times: dict[str, SaidTimes] = {}
        self._made: list[Event] = []
        self._added: list[str] = []
        self._names = {event.id for event in self._events if not isinstance(event, Turn)}

    def build(self) -> Assembled:
        strangers = self._strangers()
        for name in self._session.branches:
            self._paths[name] = self._shown(name)
        if self._damages:
            return Assembled(self._events, tuple(self._damages), is_changed=False, edits=self._edits)
        own = {name: self._own(name, branch.parent) for name, branch in self._session.branches.items()}
        remaining = _remaining(own)
        turns = [event for event in self._events if isinstance(event, Turn)]
        self._names |= {turn.id for turn in turns if turn.seq in remaining}
        removed = [event_to_object(turn) for turn in turns if turn.seq not in remaining]
        self._replay(own)
        for name, parent in strangers:
            self._adopt(name, parent)
        others = {name: dict(page.others) for name, page in self._pages.items() if page.others and self._is_news(name)}
        is_edited = bool(self._added or removed or strangers or others)
        self._add_settings()
        is_changed = is_edited or self._is_new or len(self._made) > len(self._events)
        if is_edited or self._is_new or (self._is_recovery and is_changed):
            files = {name: _sum(branch) for name, branch in self._files.branches.items()}
            data: JsonObject = {"added": self._added, "removed": removed, "files": files}
            data |= {"variables": others} if others else {}
            self._made.append(Unknown(type=EDITED, data=data, id=self._named(EDITED, data)))
            self._edits += 1
        numbered = [replace(event, seq=seq) for seq, event in enumerate(self._made, start=1)]
        made = numbered if is_changed else self._events
        return Assembled(made, (), is_changed=is_changed, edits=self._edits, chosen=self._chosen(fold(made).branch))

    def _shown(self, name: str) -> list[TurnOrText]:
        path = self._session.path(name)
        page, branch = self._pages.get(name), self._files.branches.get(name)
        if page is None or branch is None or not self._is_news(name):
            return list(path)
        if self._is_recovery:
            is_old = page.mark.has_our_body if page.mark is not None else is_cut(page, branch.session, path)
            return list(path) if is_old else turns_in(page, path)
        if not self._is_new and is_cut(page, branch.session, path):
            self._damages.append(Damage(f"{BRANCHES}/{name}/{SESSION}", "it was cut off: its end is missing"))
        return turns_in(page, path)

    def _is_news(self, name: str) -> bool:
        return _sum(self._files.branches[name]) != self._taken_in.get(name)

    def _own(self, name: str, parent: str) -> tuple[int, list[TurnOrText]]:
        """How many turns a branch shares with its parent, and its own turns."""
        path = self._paths[name]
        above = self._paths.get(parent, []) if parent else []
        at = 0
        is_same = _is_one if name in self._session.branches else _is_alike
        while at < min(len(path), len(above)) and is_same(path[at], above[at]):
            at += 1
        return at, path[at:]

    def _replay(self, own: Mapping[str, tuple[int, list[TurnOrText]]]) -> None:
        """Our events in order, with every fork at its current turn, and new events before the turn after them."""
        waiting: dict[str, list[TurnOrText]] = {name: list(items) for name, (_, items) in own.items()}
        remaining = _remaining(own)
        for event in self._events:
            if isinstance(event, BranchCreated) and event.name in own:
                self._made.append(replace(event, at=own[event.name][0]))
            elif not isinstance(event, Turn):
                self._made.append(event)
            elif event.seq in remaining:
                items = waiting[event.branch]
                while not _is_one(items[0], event):
                    self._add(items.pop(0), event.branch)
                self._made.append(event)
                del items[0]
        for name, items in waiting.items():
            for item in items:
                self._add(item, name)

    def _add(self, item: TurnOrText, branch: str) -> None:
        if isinstance(item, Turn):
            turn = replace(item, branch=branch, id=self._free(item.id))
        else:
            result: JsonObject = {"type": "tool_result", **(item.call or {}), "content": item.text}
            turn = Turn(
                role=item.role,
                content=item.text,
                timestamp=self._said_at(item, branch),
                tokens=None,
                branch=branch,
                parts=(result,) if item.call else (),
                id=self._named(FROM_TEXT, [item.role, item.text]),
            )
        self._made.append(turn)
        self._added.append(turn.id)

    def _said_at(self, item: TextPiece, branch: str) -> datetime:
        if branch not in self._times:
            self._times[branch] = self._files.times(branch)
        return self._times[branch].find(item.role, item.text, self._now())

    def _strangers(self) -> list[tuple[str, str]]:
        """Branches that another program made, each after its parent."""
        left = {name for name in self._files.branches if name not in self._session.branches}
        order: list[tuple[str, str]] = []
        known = set(self._session.branches)
        while left:
            ready = sorted(name for name in left if self._parent(name) not in left) or sorted(left)
            order += [(name, self._parent(name) if self._parent(name) in known else MAIN) for name in ready]
            known.update(ready)
            left.difference_update(ready)
        return order

    def _parent(self, name: str) -> str:
        return text_field(self._lineage(name), "parent_branch")

    def _lineage(self, name: str) -> JsonObject:
        return find_fields(self._files.branches[name].lineage) or {}

    def _adopt(self, name: str, parent: str) -> None:
        self._paths[name] = turns_in(self._pages[name], ())
        at, own = self._own(name, parent)
        created = moment_field(self._lineage(name), "created") or self._now()
        made = BranchCreated(
            name=name, parent=parent, at=at, switch=False, timestamp=created, id=self._free(f"branch-{name}")
        )
        self._made.append(made)
        for item in own:
            self._add(item, name)

    def _add_settings(self) -> None:
        """What the user has chosen in Emacs since: the branch, the preset, its overrides, the scope."""
        session, active = self._session, self._session.branch
        current = self._files.current
        if current in self._paths and current != active and (self._is_new or current not in session.branches):
            active = current
            self._made.append(BranchSwitched(branch=active, timestamp=self._now(), id=self._free(f"switch-{active}")))
        if active in self._pages:
            self._add_variables(self._pages[active])
            scope = find_fields(self._files.branches[active].scope)
            if scope is not None and scope != session.scope:
                self._made.append(ScopeChanged(scope=scope, timestamp=self._now(), id=self._named("scope", scope)))
        saved = moment_field(self._about, "updated")
        if saved is not None and saved > self._now():
            self._made.append(StatusChanged(status="paused", timestamp=saved, id=self._free("saved")))

    def _chosen(self, active: str) -> dict[str, dict[str, object]]:
        others = {name: page for name, page in self._pages.items() if name != active and self._has_other_list(page)}
        found = {name: changed_variables(page.variables, self._expected(page)) for name, page in others.items()}
        return {name: changes for name, changes in found.items() if changes}

    def _has_other_list(self, page: BufferPage) -> bool:
        """Whether there are variables that our events do not contain: the user set them, or our events are older."""
        is_later = page.mark is not None and page.mark.upto.seq > self._session.seq
        is_ours = page.mark is not None and page.mark.has_our_list and not self._is_new and not is_later
        return bool(page.variables) and not is_ours and not (page.mark is not None and page.is_cut)

    def _expected(self, page: BufferPage) -> dict[str, object]:
        """The variables of the session at the time when the file was written."""
        upto = page.mark.upto.seq if page.mark is not None else self._session.seq
        return variables_of(fold([self._events[0], *[event for event in self._events[1:] if event.seq <= upto]]))

    def _add_variables(self, page: BufferPage) -> None:
        session = self._session
        preset, overrides = text_field(self._about, "preset", "agent_type"), None
        if self._has_other_list(page):
            expected = self._expected(page)
            unread = {name: expected[name] for name in page.others if name in expected}  # these change nothing
            preset = changed_preset(page.variables, expected) or preset
            overrides = changed_overrides({**page.variables, **unread}, expected, session.overrides)
        if preset and (session.preset is None or preset != session.preset.name):
            self._made.append(PresetChosen(name=preset, timestamp=self._now(), id=self._named("preset", preset)))
        if overrides is not None:
            self._made.append(
                OverridesChanged(values=overrides, timestamp=self._now(), id=self._named("overrides", overrides))
            )

    def _now(self) -> datetime:
        """The latest time of any event so far."""
        last = self._made[-1] if self._made else self._session
        moment = getattr(last, "timestamp", None) or getattr(last, "created_at", None) or EPOCH
        return max(moment, self._session.updated_at)

    def _named(self, kind: str, value: object) -> str:
        """The same id for the same content, so that importing it again after a crash adds nothing."""
        return self._free(f"{kind}-{crc32(encode_indented(value)):08x}")

    def _free(self, name: str) -> str:
        """The name, or the name with a number if it is taken."""
        number, free = 1, name
        while free in self._names:
            number += 1
            free = f"{name}-{number}"
        self._names.add(free)
        return free


def _born(session_id: str, fields: JsonObject) -> Metadata:
    created = moment_field(fields, "created") or EPOCH
    agent = text_field(fields, "preset", "agent_type")
    known = {"created", "updated", "preset"} | ({"session_id"} if session_id != ACTIVITY else set())
    others = {key: value for key, value in fields.items() if key not in known}
    extra: JsonObject = {"gptel": others} if others else {}
    return Metadata(
        session_id=session_id, agent=agent, created_at=created, status="paused", id="metadata", seq=1, extra=extra
    )


def _sum(branch: BranchFiles) -> str:
    return f"{crc32(branch.session):08x}"


def _taken_in(events: Sequence[Event]) -> JsonObject:
    """The checksums of the files at the last imported edit: a crash may have come before they were written again."""
    notes = [event for event in events if isinstance(event, Unknown) and event.type == EDITED]
    files = notes[-1].data.get("files") if notes else None
    return files if isinstance(files, dict) else {}


def _remaining(own: Mapping[str, tuple[int, list[TurnOrText]]]) -> set[int]:
    """The turns that are still in the branch in which they were recorded."""
    found = [(name, item) for name, (_, items) in own.items() for item in items]
    return {item.seq for name, item in found if isinstance(item, Turn) and item.branch == name}


def _is_one(item: TurnOrText, other: TurnOrText) -> bool:
    return isinstance(item, Turn) and isinstance(other, Turn) and item.seq == other.seq


def _is_alike(item: TurnOrText, other: TurnOrText) -> bool:
    return _key(item) == _key(other)


def _key(item: TurnOrText) -> tuple[str, str]:
    return (item.role, item.text) if isinstance(item, TextPiece) else (item.role, displayable(item.content).strip())
