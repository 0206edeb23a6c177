"""What the files of a branch say, read anew every time: missing or broken is None, and never an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.dialects.gptel.format.fields import find_fields, text_field
from segue.dialects.gptel.format.names import BRANCH_METADATA, LEGACY_METADATA, LEGACY_PRESET, METADATA, SCOPE
from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.permissions.scope import SECTIONS, InvalidScopeError, Scope, fields_of, parse_scope, read_scope
from segue.presets import Preset, preset_settings
from segue.presets.frontmatter import InvalidFrontMatterError, parse_front_matter
from segue.presets.preset import InvalidFieldError, parse_preset

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.model import JsonObject

SIZE_BYTES = 1 << 20
_MIGRATE = "segue gptel migrate brings the session up to date"


class About(NamedTuple):
    """metadata.yml, or what stands in for it."""

    fields: JsonObject
    preset: str
    warnings: tuple[str, ...] = ()


def find_about(branch_dir: str) -> About | None:
    """The metadata with what is old about it."""
    path = f"{branch_dir}/{METADATA}"
    data, warnings = find_bytes(path), []
    if data is None and (data := find_bytes(f"{branch_dir}/{LEGACY_METADATA}")) is not None:
        path = f"{branch_dir}/{LEGACY_METADATA}"
        warnings.append(f"there is no {METADATA}: {path} stands in for it; {_MIGRATE}")
    fields = find_fields(data) if data is not None else None
    if fields is None:
        return None
    if not text_field(fields, "preset") and text_field(fields, "agent_type"):
        warnings.append(f"{path} calls its preset agent_type; {_MIGRATE}")
    return About(fields, text_field(fields, "preset", "agent_type"), tuple(warnings))


def find_metadata(branch_dir: str, *, warn: Callable[[str], None] = lambda _: None) -> JsonObject | None:
    """The metadata under Lisp's names: `session_id` is `session-id`; `formats.gptel.lisp` prints it as a plist."""
    about = find_about(branch_dir)
    if about is None:
        return None
    for warning in about.warnings:
        warn(warning)
    return kebab({**about.fields, "preset": about.preset})


def find_lineage(branch_dir: str) -> JsonObject | None:
    """branch-metadata.yml, under Lisp's names."""
    fields = find_fields(find_bytes(f"{branch_dir}/{BRANCH_METADATA}"))
    return kebab(fields) if fields is not None else None


def find_scope(branch_dir: str) -> JsonObject | None:
    """scope.yml, under Lisp's names: paths, org-roam-patterns and shell-commands."""
    data = find_bytes(f"{branch_dir}/{SCOPE}")
    try:
        return kebab(fields_of(read_scope(data.decode()))) if data is not None else None
    except (InvalidScopeError, UnicodeDecodeError):
        return None


def kebab(fields: JsonObject) -> JsonObject:
    return {key.replace("_", "-"): value for key, value in fields.items()}


class Legacy(NamedTuple):
    """A preset.md: the settings of a session from before presets were named."""

    path: str
    name: str
    """What it calls itself; empty if it has no name."""
    settings: JsonObject
    scope: Scope | None
    """What its sections say; None where there are none."""
    problem: str = ""


def find_legacy(branch_dir: str) -> Legacy | None:
    path = f"{branch_dir}/{LEGACY_PRESET}"
    data = find_bytes(path)
    if data is None:
        return None
    try:
        document = parse_front_matter(data.decode("utf-8-sig"))
        name = text_field(document.fields, "preset", "name")
        preset = parse_preset({**document.fields, "name": name or "preset"}, document.body, name="preset", path=path)
    except (InvalidFrontMatterError, InvalidFieldError, UnicodeDecodeError) as error:
        return Legacy(path, "", {}, None, f"{path}: {error}")
    try:
        scope = _scope_in(document.fields)
    except InvalidScopeError as error:
        return Legacy(path, name, _said(preset), None, f"{path}: {error}")
    return Legacy(path, name, _said(preset), scope)


def find_planned_scope(branch_dir: str) -> Scope | None:
    """The sections of a scope in scope-plan.yml."""
    try:
        return _scope_in(find_fields(find_bytes(f"{branch_dir}/{LEGACY_METADATA}")) or {})
    except InvalidScopeError:
        return None


def find_bytes(path: str) -> bytes | None:
    """What is in a small file of somebody else's; None where it cannot be had."""
    try:
        return read_small_file(path, size_bytes=SIZE_BYTES, inside=path.rpartition("/")[0])
    except (FileNotFoundError, UnusableFileError, SegueError):
        return None


def _scope_in(fields: JsonObject) -> Scope | None:
    found = {key: fields[key] for key in SECTIONS if key in fields}
    return parse_scope(found) if found else None


def _said(preset: Preset) -> JsonObject:
    return {name: value for name, value in preset_settings(preset).items() if value is not None}
