"""All that an editor needs to open a branch, read from its files.

No file is changed, except that a session from before scopes had their own file gets a scope.yml.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.console.error_messages import SEGUE_HINTS
from segue.dialects.gptel.bounds import Bounds, find_bounds
from segue.dialects.gptel.branch_files import find_legacy_preset, find_metadata_fields, find_planned_scope
from segue.dialects.gptel.format.fields import moment_field, text_field
from segue.dialects.gptel.format.footer import read_variables
from segue.dialects.gptel.format.names import ACTIVITY, CURRENT, LINK, METADATA, SCOPE, SESSION
from segue.dialects.gptel.format.settings import PRESET, overrides_in
from segue.dialects.gptel.paths import BranchPath, branches_dir
from segue.durable.folder import Folder
from segue.durable.kernel import KERNEL, Kernel
from segue.errors import NotFoundError, SegueError, UsageError
from segue.ids import is_id
from segue.model import JsonObject
from segue.permissions import ResolvedScope, preset_scope, read_scope_file, resolve_scope
from segue.permissions.scope import fields_of, write_scope
from segue.presets import SETTINGS, Preset, Presets, apply_overrides, preset_settings

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from segue.dialects.gptel.branch_files import LegacyPreset, MetadataFields
    from segue.permissions.scope import Scope

State = Literal["new", "existing", "legacy"]


class BranchDetails(Struct, frozen=True, kw_only=True):
    """A branch with its settings: those of the preset, and those that were saved over it."""

    session_id: str
    session_dir: str
    branch_name: str
    branch_dir: str
    state: State
    """New: no footer. Legacy: a preset.md that no footer has replaced yet."""
    preset: str | None
    settings: JsonObject
    """The value of each of the SETTINGS; None where it is not set."""
    preset_settings: JsonObject | None
    """The values of the preset alone; None if there is no preset, or it is not known here."""
    overrides: JsonObject
    bounds: Bounds
    """Who wrote what in the current text, except for the user's own text."""
    scope: JsonObject | None
    """None if scope.yml is invalid: then nothing is allowed."""
    title: str = ""
    autosave: bool = True
    damages: tuple[str, ...] = ()
    """What cannot be read of the events and the texts."""
    warnings: tuple[str, ...] = ()


def read_branch_details(
    branch_path: BranchPath,
    presets: Presets,
    *,
    editor_presets: Collection[str] = (),
    profiles: Sequence[Path] = (),
    kernel: Kernel = KERNEL,
) -> BranchDetails:
    """Raises NotFoundError if there is no such branch."""
    branch_path = resolve_current(branch_path)
    return _DetailsReader(branch_path, presets, editor_presets, profiles, kernel).build()


def resolve_current(branch_path: BranchPath) -> BranchPath:
    """The path with the branch that `current` points to if none is named; links above the session are followed."""
    session_dir = os.path.realpath(branch_path.session_dir)
    name = branch_path.branch_name
    if not name:
        target = Folder(session_dir).target(CURRENT)
        name = target.removeprefix(LINK).rstrip("/") if target.startswith(LINK) else ""
        if not is_id(name):
            raise NotFoundError(
                f"{session_dir}/{CURRENT} does not point to a branch",
                hint=f"name one of those in {branches_dir(session_dir)}",
            )
    found = BranchPath(session_dir, name)
    if not Folder(found.branch_dir).exists():
        raise NotFoundError(f"there is no branch {name} in {session_dir}", hint="segue gptel branches shows all")
    return found


def find_session_id(session_dir: str, metadata: MetadataFields | None) -> str:
    """The name of the folder; inside an activity, the id in the metadata."""
    name = os.path.basename(session_dir)  # noqa: PTH119 - a text
    given = text_field(metadata.fields, "session_id") if metadata is not None else ""
    return given if name == ACTIVITY and is_id(given) else name


class _DetailsReader:
    """Reads the details of one branch, and collects warnings."""

    def __init__(
        self,
        branch_path: BranchPath,
        presets: Presets,
        editor_presets: Collection[str],
        profiles: Sequence[Path],
        kernel: Kernel,
    ) -> None:
        self._branch_path = branch_path
        self._presets = presets
        self._editor_presets = editor_presets
        self._profiles = profiles
        self._folder = Folder(branch_path.branch_dir, kernel)
        self._warnings: list[str] = []

    def build(self) -> BranchDetails:
        metadata = find_metadata_fields(self._branch_path.branch_dir)
        self._check(metadata)
        shown: dict[str, object] = {}
        with suppress(FileNotFoundError):
            shown = read_variables(self._folder.read(SESSION))
        overrides = overrides_in(shown)
        legacy = find_legacy_preset(self._branch_path.branch_dir) if not isinstance(shown.get(PRESET), str) else None
        if legacy is None:
            name = str(shown.get(PRESET) or (metadata.preset if metadata is not None else ""))
            preset = self._find_preset(name)
        else:
            name = self._find_legacy_name(legacy, metadata)
            preset = self._presets.find(name) if name else None
            if not name:
                overrides = legacy.settings | overrides
        return BranchDetails(
            session_id=find_session_id(self._branch_path.session_dir, metadata),
            session_dir=self._branch_path.session_dir,
            branch_name=self._branch_path.branch_name,
            branch_dir=self._branch_path.branch_dir,
            state="legacy" if legacy is not None else "existing" if shown else "new",
            preset=name or None,
            settings=apply_overrides(preset, overrides) if preset is not None else dict.fromkeys(SETTINGS) | overrides,
            preset_settings=preset_settings(preset) if preset is not None else None,
            overrides=overrides,
            bounds=find_bounds(self._branch_path),
            scope=self._scope(preset, legacy),
            warnings=tuple(self._warnings),
        )

    def _check(self, metadata: MetadataFields | None) -> None:
        path = f"{self._branch_path.branch_dir}/{METADATA}"
        if metadata is None:
            self._warnings.append(f"{path} is missing or not YAML; if it is missing, segue gptel save writes it")
            return
        self._warnings += metadata.warnings
        fields = metadata.fields
        missing = [name for name in ("session_id", "created", "updated") if not fields.get(name)]
        if missing and not metadata.warnings:
            self._warnings.append(f"{path} lacks {', '.join(missing)}; segue gptel save adds what is missing")
        for name in ("created", "updated"):
            if fields.get(name) and moment_field(fields, name) is None:
                self._warnings.append(f"{path}: {name} is not an ISO 8601 time")
        given, folder = fields.get("session_id"), os.path.basename(self._branch_path.session_dir)  # noqa: PTH119
        if given and given != folder != ACTIVITY:
            self._warnings.append(f"{path} names session {given!r:.80}, but its folder is {folder}: the folder is used")

    def _find_preset(self, name: str) -> Preset | None:
        found = self._presets.find(name) if name else None
        if name and found is None and name not in self._editor_presets:
            self._warnings.append(
                f"there is no preset {name!r:.80}, so only the settings that were saved over it are used; "
                f"there are {', '.join(self._presets.names)}"
            )
        return found

    def _find_legacy_name(self, legacy: LegacyPreset, metadata: MetadataFields | None) -> str:
        """The preset that a preset.md names, or else the metadata; empty if it is unknown here and in the editor."""
        if legacy.problem:
            self._warnings.append(legacy.problem)
        name = legacy.name or (metadata.preset if metadata is not None else "")
        if name and (self._presets.find(name) is not None or name in self._editor_presets):
            self._warnings.append(
                f"{legacy.path} is outdated: the preset {name} is used, and the next save completes the migration"
            )
            return name
        given = ", ".join(f"{key} {value!r:.60}" for key, value in legacy.settings.items())
        called = repr(name)[:80] if name else "without a name"
        self._warnings.append(
            f"{legacy.path} is a preset {called} that is not known here: its settings are used ({given})"
        )
        return ""

    def _scope(self, preset: Preset | None, legacy: LegacyPreset | None) -> JsonObject | None:
        try:
            with suppress(FileNotFoundError):
                return fields_of(read_scope_file(f"{self._branch_path.branch_dir}/{SCOPE}"))
            planned = (legacy.scope if legacy is not None else None) or find_planned_scope(self._branch_path.branch_dir)
            if planned is not None:
                self._write_scope(planned)
                return fields_of(planned)
            return fields_of(initial_scope(preset, self._profiles).scope)
        except (UsageError, NotFoundError) as error:
            self._warnings.append(SEGUE_HINTS.describe(error))
            return None

    def _write_scope(self, scope: Scope) -> None:
        """Write scope.yml, so that it can be edited; where nothing can be written, the scope is used nevertheless."""
        try:
            self._folder.create(SCOPE, write_scope(scope).encode())
        except FileExistsError:
            return  # another process did so just now
        except SegueError as error:
            self._warnings.append(f"{error}; the scope is used nevertheless")


def initial_scope(preset: Preset | None, profiles: Sequence[Path]) -> ResolvedScope:
    """The scope of a new session with this preset: its profile, or its own sections, or nothing at all."""
    if preset is None:
        return resolve_scope()
    return resolve_scope(
        profile=preset.scope_profile, folders=profiles, own=preset_scope(preset.extra, preset.path or preset.name)
    )
