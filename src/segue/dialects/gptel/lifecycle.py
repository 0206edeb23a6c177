"""What can be done with a session that users edit in Emacs: create, open, save, branch, migrate."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.clock import utc_now
from segue.console.error_messages import SEGUE_HINTS
from segue.dialects.gptel.branch_details import BranchDetails, initial_scope, read_branch_details, resolve_current
from segue.dialects.gptel.branch_files import find_metadata_fields
from segue.dialects.gptel.branch_registry import BranchRegistry, RegisteredBranch
from segue.dialects.gptel.fork_point import count_shared_turns, find_turn_at
from segue.dialects.gptel.format.footer import read_mark, read_variables, read_whole
from segue.dialects.gptel.format.names import ACTIVITY, SESSION, TOOLS, new_branch_name, new_gptel_id
from segue.dialects.gptel.paths import BranchPath, branch_dir
from segue.dialects.gptel.store import GptelStore
from segue.durable.folder import Folder
from segue.durable.kernel import KERNEL, Kernel
from segue.durable.quarantine import QUARANTINE
from segue.errors import ConflictError, DamagedError, SegueError, SessionExistsError, UsageError
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
from segue.store import FORMAT_VERSION, Examination

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from segue.dialects.gptel.store.writer import GptelWriter
    from segue.model import Event, Overview
    from segue.presets import Preset

_TRIES = 20


class Lineage(Struct, frozen=True, kw_only=True):
    """A branch, and the branch that it started from."""

    name: str
    current: bool
    parent: str | None
    at: int
    """The number of turns that it shares with its parent."""
    turn_count: int
    created: datetime
    branch_dir: str


class Sessions:
    """The operations on sessions in any folder. `root` is the folder for new ones.

    `profiles` are folders of scope profiles, in addition to those that come with Segue. `editor_presets` are names of
    presets that the editor defines itself: they are valid, but their settings are not known here.
    """

    def __init__(
        self,
        root: str,
        presets: Presets,
        *,
        editor_presets: Collection[str] = (),
        profiles: Sequence[Path] = (),
        clock: Callable[[], datetime] = utc_now,
        kernel: Kernel = KERNEL,
        registry: BranchRegistry | None = None,
    ) -> None:
        self.root = root
        self.registry = BranchRegistry() if registry is None else registry
        self._presets = presets
        self._editor_presets = frozenset(editor_presets)
        self._profiles = profiles
        self._clock = clock
        self._kernel = kernel

    def create(self, name: str, *, preset: str = DEFAULT, activity: str = "") -> BranchDetails:
        """Create a session `<name>-<timestamp>`; inside an activity its folder is `<activity>/session`.

        It is created whole, with a valid `current`, or not at all. Raises NotFoundError for an unknown preset.
        """
        chosen = self._get_preset(preset)
        scope = fields_of(initial_scope(chosen, self._profiles).scope)
        now = self._clock()
        store = self._store(activity or self.root)
        for second in range(_TRIES):
            own_id = check_id(new_gptel_id(name, now + timedelta(seconds=second)))
            folder = ACTIVITY if activity else own_id
            first = Metadata(
                session_id=folder,
                agent=preset,
                created_at=now,
                status="paused",
                version=FORMAT_VERSION,
                title=name,
                id=_new_id(),
                extra={"gptel": {"session_id": own_id}} if activity else {},
            )
            events: list[Event] = [
                first,
                PresetChosen(name=preset, hash=_hash(chosen), timestamp=now, id=_new_id()),
                ScopeChanged(scope=scope, timestamp=now, id=_new_id()),
            ]
            try:
                store.create(folder, events).close()
            except SessionExistsError:
                if activity:
                    path = f"{store.folder.path}/{ACTIVITY}"
                    raise ConflictError(f"there is already a session in {path}", hint="open it") from None
                continue  # another one of this name was created in the same second
            return self.open(BranchPath(f"{store.folder.path}/{folder}", MAIN))
        raise ConflictError(f"{_TRIES} sessions called {name!r:.60} were created at this moment", hint="try again")

    def log_call(self, branch_path: BranchPath, name: str, arguments: object, result: str) -> str:
        """Log a call that the editor made, and return the path of the log."""
        found = resolve_current(branch_path)
        session_id = check_id(os.path.basename(found.session_dir))  # noqa: PTH119 - a text
        self._store_of(found.session_dir).log_call(session_id, found.branch_name, name, arguments, result)
        return f"{found.branch_dir}/{TOOLS}"

    def open(self, branch_path: BranchPath, *, buffer: object = None) -> BranchDetails:
        """Read the details of a branch, and register it as open."""
        details = read_branch_details(
            branch_path,
            self._presets,
            editor_presets=self._editor_presets,
            profiles=self._profiles,
            kernel=self._kernel,
        )
        found = self._examine(details.session_dir)
        title = found.session.title if found.session is not None else ""
        news = self._damage_warning(details, found) if found.damages else self._other_writers(details, found)
        warnings = (*details.warnings, *news)
        details = replace(details, title=title, warnings=warnings, damages=tuple(map(str, found.damages)))
        self.registry.enter(
            RegisteredBranch(
                session_id=details.session_id,
                session_dir=details.session_dir,
                branch_name=details.branch_name,
                branch_dir=details.branch_dir,
                buffer=buffer,
            )
        )
        return details

    def save(
        self,
        branch_path: BranchPath,
        changes: Mapping[str, object] | None = None,
        *,
        unset: Collection[str] = (),
        preset: str | None = None,
    ) -> BranchDetails:
        """Record what was typed, and write only the settings that differ from the preset.

        `changes` are new settings: None turns one off, as an empty list does with tools. Those in `unset` get the value
        of the preset.
        """
        for name in (*(changes or {}), *unset):
            if name not in SETTINGS:
                raise UsageError(f"there is no setting {name!r:.60}", hint=f"there are {', '.join(SETTINGS)}")
        details = self.open(branch_path)
        if preset is not None:
            self._get_preset(preset)
        wanted = preset if preset is not None else details.preset
        given = details.overrides if details.state == "legacy" or _is_touched(details.branch_dir) else {}
        with self._writing(details) as writer:
            values = {**writer.overview.overrides, **given, **(changes or {})}
            kept = {name: value for name, value in values.items() if name not in unset}
            events = self._differences(writer.overview, wanted, kept)
            if events:
                writer.append(*events)
            writer.save(details.branch_name)
        return self.open(BranchPath(details.session_dir, details.branch_name))

    def branch(
        self,
        branch_path: BranchPath,
        name: str,
        *,
        at: int | None = None,
        position: int | None = None,
        exclude: bool = False,
        switch: bool = True,
    ) -> BranchDetails:
        """Create a branch `<timestamp>-<name>` that starts at a turn of the user, with or without that turn.

        The turn is the one with the number `at`, or the one at a `position` of the text, in characters from 1; without
        either, the branch shares all turns (with `exclude`, those before the last question). The branch has the same
        preset and overrides. Its folder is created whole, or not at all.
        """
        details = self.open(branch_path)
        parent = details.branch_name
        if position is not None and position < 1:
            raise UsageError(f"position {position} is before the text", hint="positions start at 1")
        page = read_whole(_text(details.branch_dir))
        with self._writing(details) as writer:
            path = self._store_of(details.session_dir).load(writer.overview.id).path(parent)
            number = find_turn_at(path, page, position) if position is not None else at
            shared = count_shared_turns(path, number, exclude=exclude)
            now = self._clock()
            new = _free_name(name, now, writer.overview)
            grown = BranchCreated(name=new, parent=parent, at=shared, switch=switch, timestamp=now, id=_new_id())
            writer.append(grown)
            writer.save()
        return self.open(BranchPath(details.session_dir, new))

    def switch(self, branch_path: BranchPath) -> BranchDetails:
        """Make a branch the current one, and return its details."""
        details = self.open(branch_path)
        with self._writing(details) as writer:
            if writer.branch != details.branch_name:
                writer.append(BranchSwitched(branch=details.branch_name, timestamp=self._clock(), id=_new_id()))
            writer.save()
        return details

    def rename_branch(self, branch_path: BranchPath, label: str) -> BranchDetails:
        """Rename a branch to `<timestamp>-<label>`, with the time at which it was created; never the first."""
        details = self.open(branch_path)
        with self._writing(details) as writer:
            old = details.branch_name
            created = writer.overview.get_branch(old).created_at
            new = check_id(new_branch_name(label, created), what="branch name")
            if new != old:
                writer.rename_branch(old, new)
        self.registry.remove(details.session_id, old)
        return self.open(BranchPath(details.session_dir, new))

    def delete_branch(self, branch_path: BranchPath) -> str:
        """Delete a branch with its folder, and return its name: never the first, the current, or a parent of others."""
        details = self.open(branch_path)
        with self._writing(details) as writer:
            writer.drop_branch(details.branch_name)
        self.registry.remove(details.session_id, details.branch_name)
        return details.branch_name

    def branches(self, branch_path: BranchPath) -> list[Lineage]:
        """All branches in the order in which they were created, each after its parent."""
        session_dir = resolve_current(branch_path).session_dir
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

    def migrate(self, branch_path: BranchPath) -> BranchDetails | None:
        """Bring all branches of an older session up to date; None if nothing was outdated. Old files stay."""
        branch_path = resolve_current(branch_path)
        details = self.open(branch_path)
        for branch in self.branches(branch_path):
            if branch.name != branch_path.branch_name and Folder(branch.branch_dir).exists():
                self.open(BranchPath(branch_path.session_dir, branch.name))  # each has its own scope
        metadata = find_metadata_fields(branch_path.branch_dir)
        is_old = (
            metadata is None
            or metadata.warnings
            or (details.state == "legacy" and not _variables(branch_path.branch_dir))
        )
        return self.save(branch_path) if is_old else None

    def _get_preset(self, name: str) -> Preset | None:
        """None for a preset that only the editor knows. Raises NotFoundError for an unknown one."""
        found = self._presets.find(name)
        return found if found is not None or name in self._editor_presets else self._presets.get(name, what="preset")

    def _examine(self, session_dir: str) -> Examination:
        try:
            return self._store_of(session_dir).examine(os.path.basename(session_dir))  # noqa: PTH119 - a text
        except SegueError:
            return Examination(session=None)  # the other warnings name what cannot be read

    def _damage_warning(self, details: BranchDetails, found: Examination) -> Iterator[str]:
        root, name = os.path.split(details.session_dir)
        command = shlex.join(["segue", "recover", name, "--store", f"{GptelStore.scheme}:{root}"])
        error = DamagedError(name, found.damages)
        yield f"{error}; {command} repairs it, and adds what you save in {SESSION} until then"

    def _other_writers(self, details: BranchDetails, found: Examination) -> Iterator[str]:
        """Warnings about another process that is writing in this session, or that died while writing."""
        store, name = self._store_of(details.session_dir), os.path.basename(details.session_dir)  # noqa: PTH119 - a text
        try:
            owner = store.owner(name)
            if owner is not None:
                yield f"process {owner.pid} is writing in this session; its new turns are not in the text that you see"
                return
            if found.torn_bytes:
                yield (
                    f"a process died while it wrote {found.torn_bytes} bytes, which were never confirmed; "
                    f"the next write moves them to {store.folder.path}/{QUARANTINE}"
                )
            if count := store.count_unshown(name, details.branch_name):
                turns = "turn" if count == 1 else "turns"
                yield f"{SESSION} lacks the last {count} {turns}, since a process died; segue gptel save adds them"
        except SegueError as error:
            yield SEGUE_HINTS.describe(error)

    def _differences(self, overview: Overview, wanted: str | None, values: JsonObject) -> list[Event]:
        """The events that record the preset, and of the settings only those that differ from it."""
        preset = self._presets.find(wanted) if wanted else None
        overrides = diff_settings(preset, values) if preset is not None else values
        now = self._clock()
        events: list[Event] = []
        recorded = overview.preset.name if overview.preset is not None else ""
        if (wanted or "") != recorded:
            events.append(PresetChosen(name=wanted or "", hash=_hash(preset), timestamp=now, id=_new_id()))
        if overrides != overview.overrides:
            events.append(OverridesChanged(values=overrides, timestamp=now, id=_new_id()))
        return events

    @contextmanager
    def _writing(self, details: BranchDetails) -> Iterator[GptelWriter]:
        store = self._store_of(details.session_dir)
        with store.open(check_id(os.path.basename(details.session_dir))) as writer:  # noqa: PTH119 - a text
            yield writer

    def _store_of(self, session_dir: str) -> GptelStore:
        return self._store(os.path.dirname(session_dir))  # noqa: PTH120 - a text

    def _store(self, root: str) -> GptelStore:
        return GptelStore(root, kernel=self._kernel, clock=self._clock)


def _hash(preset: Preset | None) -> str:
    return preset.hash if preset is not None else ""


def _text(branch_dir: str) -> bytes:
    try:
        return Folder(branch_dir).read(SESSION)
    except FileNotFoundError:
        return b""


def _variables(branch_dir: str) -> dict[str, object]:
    return read_variables(_text(branch_dir))


def _is_touched(branch_dir: str) -> bool:
    """Whether another program has written the file since Segue did."""
    mark = read_mark(_text(branch_dir))
    return mark is None or not mark.is_pristine


def _free_name(label: str, now: datetime, overview: Overview) -> str:
    for second in range(_TRIES):
        name = check_id(new_branch_name(label, now + timedelta(seconds=second)), what="branch name")
        if name not in overview.branches:
            return name
    raise ConflictError(f"{_TRIES} branches called {label!r:.60} were created at this moment", hint="try again")


def _new_id() -> str:
    return os.urandom(8).hex()
