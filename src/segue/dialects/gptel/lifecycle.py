"""The life of a session that people keep in Emacs: create, open, save, branch, delete a branch, list them, migrate."""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.clock import utc_now
from segue.console.error_messages import SEGUE_HINTS
from segue.dialects.gptel.branch_files import find_about
from segue.dialects.gptel.fork_point import cut_at, turn_at
from segue.dialects.gptel.format.footer import read_mark, read_variables, read_whole
from segue.dialects.gptel.format.names import ACTIVITY, SESSION, new_branch_name, new_gptel_id
from segue.dialects.gptel.open_branches import OpenBranch, OpenBranches
from segue.dialects.gptel.opening import OpenedBranch, open_branch, resolved, scope_for
from segue.dialects.gptel.paths import BranchPath, branch_dir
from segue.dialects.gptel.store import GptelStore
from segue.durable.folder import Folder
from segue.durable.kernel import KERNEL, Kernel
from segue.errors import ConflictError, SegueError, SessionExistsError, UsageError
from segue.ids import check_id
from segue.model import (
    MAIN,
    BranchCreated,
    BranchSwitched,
    JsonObject,
    Metadata,
    OverridesChanged,
    PresetChosen,
    ScopeChanged,
)
from segue.permissions.scope import fields_of
from segue.presets import DEFAULT, SETTINGS, Presets, diff_settings
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from segue.dialects.gptel.store.writer import GptelWriter
    from segue.model import Event, Overview

_TRIES = 20


class Lineage(Struct, frozen=True, kw_only=True):
    """A branch, and what it grew from."""

    name: str
    current: bool
    parent: str | None
    at: int
    """How many turns it shares with its parent."""
    turn_count: int
    created: datetime
    branch_dir: str


class Sessions:
    """All that can be done with session trees, wherever they lie. `root` is where new ones are made.

    `profiles` are folders of scope profiles; those that come with Segue are known without.
    """

    def __init__(
        self,
        root: str,
        presets: Presets,
        *,
        profiles: Sequence[Path] = (),
        clock: Callable[[], datetime] = utc_now,
        kernel: Kernel = KERNEL,
        registry: OpenBranches | None = None,
    ) -> None:
        self.root = root
        self.registry = OpenBranches() if registry is None else registry
        self._presets = presets
        self._profiles = profiles
        self._clock = clock
        self._kernel = kernel

    def create(self, name: str, *, preset: str = DEFAULT, activity: str = "") -> OpenedBranch:
        """A session called `<name>-<timestamp>`; inside an activity its folder is `<activity>/session`.

        There is a whole session with a valid `current`, or there is none. NotFoundError if there is no such preset.
        """
        chosen = self._presets.get(preset, what="preset")
        scope = fields_of(scope_for(chosen, self._profiles).scope)
        now = self._clock()
        store = self._store(activity or self.root)
        for second in range(_TRIES):
            own_id = check_id(new_gptel_id(name, now + timedelta(seconds=second)))
            folder = ACTIVITY if activity else own_id
            first = Metadata(
                session_id=folder,
                agent=chosen.name,
                created_at=now,
                status="paused",
                version=FORMAT_VERSION,
                title=name,
                id=_new_id(),
                extra={"gptel": {"session_id": own_id}} if activity else {},
            )
            events: list[Event] = [
                first,
                PresetChosen(name=chosen.name, hash=chosen.hash, timestamp=now, id=_new_id()),
                ScopeChanged(scope=scope, timestamp=now, id=_new_id()),
            ]
            try:
                store.create(folder, events).close()
            except SessionExistsError:
                if activity:
                    path = f"{store.folder.path}/{ACTIVITY}"
                    raise ConflictError(f"there is a session in {path} already", hint="open it") from None
                continue  # another one of this name, in the same second
            return self.open(BranchPath(f"{store.folder.path}/{folder}", MAIN))
        raise ConflictError(f"there are {_TRIES} sessions called {name!r:.60} of this very moment", hint="try again")

    def open(self, place: BranchPath, *, buffer: object = None) -> OpenedBranch:
        """All that holds in a branch, and its entry in the registry."""
        opened = open_branch(place, self._presets, profiles=self._profiles, kernel=self._kernel)
        opened = replace(opened, warnings=(*opened.warnings, *self._resolver(opened)))
        self.registry.enter(
            OpenBranch(
                session_id=opened.session_id,
                session_dir=opened.session_dir,
                branch_name=opened.branch_name,
                branch_dir=opened.branch_dir,
                buffer=buffer,
            )
        )
        return opened

    def save(
        self, place: BranchPath, changes: Mapping[str, object] | None = None, *, preset: str | None = None
    ) -> OpenedBranch:
        """Take in what was typed, and write of the settings only what differs from the preset.

        `changes` are settings that hold from now on; None is back to what the preset says.
        """
        for name in changes or {}:
            if name not in SETTINGS:
                raise UsageError(f"there is no setting {name!r:.60}", hint=f"there are {', '.join(SETTINGS)}")
        opened = self.open(place)
        wanted = self._presets.get(preset, what="preset").name if preset is not None else opened.preset
        said = opened.overrides if opened.state == "legacy" or _is_touched(opened.branch_dir) else {}
        with self._writing(opened) as writer:
            events = self._differences(writer.overview, wanted, {**said, **(changes or {})})
            if events:
                writer.append(*events)
            writer.save(opened.branch_name)
        return self.open(BranchPath(opened.session_dir, opened.branch_name))

    def branch(
        self,
        place: BranchPath,
        name: str,
        *,
        at: int | None = None,
        position: int | None = None,
        exclude: bool = False,
        switch: bool = True,
    ) -> OpenedBranch:
        """A branch `<timestamp>-<name>` that goes on from a turn of the user, with it or without it.

        The turn is the one with the number `at`, or the one at a `position` of the text, counted in characters from 1;
        without either, everything is shared (without the last question, if that is to be excluded). Preset and
        overrides are kept. There is a whole new folder, or none.
        """
        opened = self.open(place)
        parent = opened.branch_name
        if position is not None and position < 1:
            raise UsageError(f"position {position} is before the text", hint="characters are counted from 1")
        page = read_whole(_text(opened.branch_dir))
        with self._writing(opened) as writer:
            path = self._store_of(opened.session_dir).load(writer.overview.id).path(parent)
            number = turn_at(path, page, position) if position is not None else at
            shared = cut_at(path, number, exclude=exclude)
            now = self._clock()
            new = _free_name(name, now, writer.overview)
            grown = BranchCreated(name=new, parent=parent, at=shared, switch=switch, timestamp=now, id=_new_id())
            writer.append(grown)
            writer.save()
        return self.open(BranchPath(opened.session_dir, new))

    def switch(self, place: BranchPath) -> OpenedBranch:
        """Make a branch the current one."""
        opened = self.open(place)
        with self._writing(opened) as writer:
            if writer.branch != opened.branch_name:
                writer.append(BranchSwitched(branch=opened.branch_name, timestamp=self._clock(), id=_new_id()))
            writer.save()
        return opened

    def delete_branch(self, place: BranchPath) -> str:
        """Remove a branch with its folder; its name. Never the first one, the current one, or one others grew from."""
        opened = self.open(place)
        with self._writing(opened) as writer:
            writer.drop_branch(opened.branch_name)
        self.registry.remove(opened.session_id, opened.branch_name)
        return opened.branch_name

    def branches(self, place: BranchPath) -> list[Lineage]:
        """Every branch behind the one it grew from, in the order in which they were made."""
        session_dir = resolved(place).session_dir
        overview = self._store_of(session_dir).overview(os.path.basename(session_dir))  # noqa: PTH119 - a text
        return [
            Lineage(
                name=branch.name,
                current=branch.name == overview.branch,
                parent=branch.parent or None,
                at=branch.at,
                turn_count=branch.turn_count,
                created=branch.created_at,
                branch_dir=branch_dir(session_dir, branch.name),
            )
            for branch in overview.branches.values()
        ]

    def migrate(self, place: BranchPath) -> OpenedBranch | None:
        """Bring a session of an older kind up to date, in every branch; None if nothing was old. Old files stay."""
        place = resolved(place)
        opened = self.open(place)
        for branch in self.branches(place):
            if branch.name != place.branch_name and Folder(branch.branch_dir).exists():
                self.open(BranchPath(place.session_dir, branch.name))  # each has a scope of its own
        about = find_about(place.branch_dir)
        is_old = about is None or about.warnings or (opened.state == "legacy" and not _variables(place.branch_dir))
        return self.save(place) if is_old else None

    def _resolver(self, opened: OpenedBranch) -> Iterator[str]:
        """Whether anybody else is at work here, or died of it."""
        store, name = self._store_of(opened.session_dir), os.path.basename(opened.session_dir)  # noqa: PTH119 - a text
        try:
            owner = store.owner(name)
            if owner is not None:
                yield f"process {owner.pid} is writing in this session: what it adds is not in the text that you see"
            elif count := store.count_unshown(name, opened.branch_name):
                turns = "turn" if count == 1 else "turns"
                yield f"{SESSION} does not show the last {count} {turns}, as a process died; segue gptel save shows all"
        except SegueError as error:
            yield SEGUE_HINTS.describe(error)

    def _differences(self, overview: Overview, wanted: str | None, changes: Mapping[str, object]) -> list[Event]:
        """What is to be recorded so that the session says no more than what differs."""
        preset = self._presets.find(wanted) if wanted else None
        told = {**overview.overrides, **changes}.items()
        values: JsonObject = {name: value for name, value in told if value is not None}
        overrides = diff_settings(preset, values) if preset is not None else values
        now = self._clock()
        events: list[Event] = []
        recorded = overview.preset.name if overview.preset is not None else ""
        if (wanted or "") != recorded:
            hash = preset.hash if preset is not None else ""
            events.append(PresetChosen(name=wanted or "", hash=hash, timestamp=now, id=_new_id()))
        if overrides != overview.overrides:
            events.append(OverridesChanged(values=overrides, timestamp=now, id=_new_id()))
        return events

    @contextmanager
    def _writing(self, opened: OpenedBranch) -> Iterator[GptelWriter]:
        store = self._store_of(opened.session_dir)
        with store.open(check_id(os.path.basename(opened.session_dir))) as writer:  # noqa: PTH119 - a text
            yield writer

    def _store_of(self, session_dir: str) -> GptelStore:
        return self._store(os.path.dirname(session_dir))  # noqa: PTH120 - a text

    def _store(self, root: str) -> GptelStore:
        return GptelStore(root, kernel=self._kernel, clock=self._clock)


def _text(branch_dir: str) -> bytes:
    try:
        return Folder(branch_dir).read(SESSION)
    except FileNotFoundError:
        return b""


def _variables(branch_dir: str) -> dict[str, object]:
    return read_variables(_text(branch_dir))


def _is_touched(branch_dir: str) -> bool:
    """Whether somebody else wrote the file since we did."""
    mark = read_mark(_text(branch_dir))
    return mark is None or not mark.is_pristine


def _free_name(label: str, now: datetime, overview: Overview) -> str:
    for second in range(_TRIES):
        name = check_id(new_branch_name(label, now + timedelta(seconds=second)), what="branch name")
        if name not in overview.branches:
            return name
    raise ConflictError(f"there are {_TRIES} branches called {label!r:.60} of this very moment", hint="try again")


def _new_id() -> str:
    return os.urandom(8).hex()
