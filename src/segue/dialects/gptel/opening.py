"""Opening a branch: all that an editor needs to go on with it. Its files say everything, and none of them is changed
but that a session from before scopes had files of their own gets one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.console.error_messages import SEGUE_HINTS
from segue.dialects.gptel.bounds import Bounds, find_bounds
from segue.dialects.gptel.branch_files import find_about, find_legacy, find_planned_scope
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
    from collections.abc import Sequence
    from pathlib import Path

    from segue.dialects.gptel.branch_files import About, Legacy
    from segue.permissions.scope import Scope

State = Literal["new", "existing", "legacy"]


class OpenedBranch(Struct, frozen=True, kw_only=True):
    """What holds in a branch: the preset first, then what was saved over it."""

    session_id: str
    session_dir: str
    branch_name: str
    branch_dir: str
    state: State
    """New is without a footer, and legacy with a preset.md that no footer has replaced yet."""
    preset: str | None
    settings: JsonObject
    """Each of the SETTINGS, None where nobody says anything."""
    preset_settings: JsonObject | None
    """What the preset alone says of them; None if there is none, or it is not known here."""
    overrides: JsonObject
    bounds: Bounds
    """Who said what in the text as it is now, where it was not the user."""
    scope: JsonObject | None
    """None if scope.yml makes no sense: then nothing is allowed."""
    autosave: bool = True
    warnings: tuple[str, ...] = ()


def open_branch(
    place: BranchPath, presets: Presets, *, profiles: Sequence[Path] = (), kernel: Kernel = KERNEL
) -> OpenedBranch:
    """NotFoundError if there is no such branch."""
    place = resolved(place)
    return _Opening(place, presets, profiles, kernel).build()


def resolved(place: BranchPath) -> BranchPath:
    """The same with the branch that `current` points to, where none is named; links above the session are followed."""
    session_dir = os.path.realpath(place.session_dir)
    name = place.branch_name
    if not name:
        target = Folder(session_dir).target(CURRENT)
        name = target.removeprefix(LINK).rstrip("/") if target.startswith(LINK) else ""
        if not is_id(name):
            raise NotFoundError(
                f"{session_dir}/{CURRENT} points to no branch", hint=f"name one of those in {branches_dir(session_dir)}"
            )
    found = BranchPath(session_dir, name)
    if not Folder(found.branch_dir).exists():
        raise NotFoundError(f"there is no branch {name} in {session_dir}", hint="segue gptel branches shows all")
    return found


def id_of(session_dir: str, about: About | None) -> str:
    """The name of the folder; inside an activity, what the metadata say."""
    name = os.path.basename(session_dir)  # noqa: PTH119 - a text
    said = text_field(about.fields, "session_id") if about is not None else ""
    return said if name == ACTIVITY and is_id(said) else name


class _Opening:
    def __init__(self, place: BranchPath, presets: Presets, profiles: Sequence[Path], kernel: Kernel) -> None:
        self._place = place
        self._presets = presets
        self._profiles = profiles
        self._folder = Folder(place.branch_dir, kernel)
        self._warnings: list[str] = []

    def build(self) -> OpenedBranch:
        about = find_about(self._place.branch_dir)
        self._check(about)
        shown: dict[str, object] = {}
        with suppress(FileNotFoundError):
            shown = read_variables(self._folder.read(SESSION))
        overrides = overrides_in(shown)
        legacy = find_legacy(self._place.branch_dir) if not isinstance(shown.get(PRESET), str) else None
        if legacy is None:
            name = str(shown.get(PRESET) or (about.preset if about is not None else ""))
            preset = self._known(name)
        else:
            preset = self._recognised(legacy, about)
            name = preset.name if preset is not None else ""
            if preset is None:
                overrides = legacy.settings | overrides
        return OpenedBranch(
            session_id=id_of(self._place.session_dir, about),
            session_dir=self._place.session_dir,
            branch_name=self._place.branch_name,
            branch_dir=self._place.branch_dir,
            state="legacy" if legacy is not None else "existing" if shown else "new",
            preset=name or None,
            settings=apply_overrides(preset, overrides) if preset is not None else dict.fromkeys(SETTINGS) | overrides,
            preset_settings=preset_settings(preset) if preset is not None else None,
            overrides=overrides,
            bounds=find_bounds(self._place),
            scope=self._scope(preset, legacy),
            warnings=tuple(self._warnings),
        )

    def _check(self, about: About | None) -> None:
        path = f"{self._place.branch_dir}/{METADATA}"
        if about is None:
            self._warnings.append(f"{path} is missing, or is no YAML; segue gptel save writes it where it is missing")
            return
        self._warnings += about.warnings
        fields = about.fields
        missing = [name for name in ("session_id", "created", "updated") if not fields.get(name)]
        if missing and not about.warnings:
            self._warnings.append(f"{path} lacks {', '.join(missing)}; segue gptel save adds what is missing")
        for name in ("created", "updated"):
            if fields.get(name) and moment_field(fields, name) is None:
                self._warnings.append(f"{path}: {name} is no ISO 8601 time")
        said, folder = fields.get("session_id"), os.path.basename(self._place.session_dir)  # noqa: PTH119
        if said and said != folder != ACTIVITY:
            self._warnings.append(f"{path} says session {said!r:.80}, and its folder is {folder}: the folder holds")

    def _known(self, name: str) -> Preset | None:
        found = self._presets.find(name) if name else None
        if name and found is None:
            self._warnings.append(
                f"there is no preset {name!r:.80} here, so that only what was saved over it holds; "
                f"there are {', '.join(self._presets.names)}"
            )
        return found

    def _recognised(self, legacy: Legacy, about: About | None) -> Preset | None:
        """The preset that a preset.md means, by its name, or else by that of the metadata."""
        if legacy.problem:
            self._warnings.append(legacy.problem)
        name = legacy.name or (about.preset if about is not None else "")
        found = self._presets.find(name) if name else None
        if found is not None:
            self._warnings.append(
                f"{legacy.path} is of an older kind: the preset {name} holds, and the next save completes the migration"
            )
            return found
        said = ", ".join(f"{key} {value!r:.60}" for key, value in legacy.settings.items())
        called = repr(name)[:80] if name else "without a name"
        self._warnings.append(f"{legacy.path} is a preset {called} that is not known here: its settings hold ({said})")
        return None

    def _scope(self, preset: Preset | None, legacy: Legacy | None) -> JsonObject | None:
        try:
            with suppress(FileNotFoundError):
                return fields_of(read_scope_file(f"{self._place.branch_dir}/{SCOPE}"))
            planned = (legacy.scope if legacy is not None else None) or find_planned_scope(self._place.branch_dir)
            if planned is not None:
                self._keep(planned)
                return fields_of(planned)
            return fields_of(scope_for(preset, self._profiles).scope)
        except (UsageError, NotFoundError) as error:
            self._warnings.append(SEGUE_HINTS.describe(error))
            return None

    def _keep(self, scope: Scope) -> None:
        """As scope.yml, so that it can be widened; where nothing can be written it holds all the same."""
        try:
            self._folder.create(SCOPE, write_scope(scope).encode())
        except FileExistsError:
            return  # somebody else did so just now
        except SegueError as error:
            self._warnings.append(f"{error}; the scope holds all the same")


def scope_for(preset: Preset | None, profiles: Sequence[Path]) -> ResolvedScope:
    """What a session of this preset begins with: its profile, or what it says itself, or nothing at all."""
    if preset is None:
        return resolve_scope()
    return resolve_scope(
        profile=preset.scope_profile, folders=profiles, own=preset_scope(preset.extra, preset.path or preset.name)
    )
