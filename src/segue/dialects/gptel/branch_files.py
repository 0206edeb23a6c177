"""The content of the files of a branch, read each time: a missing or invalid file is None, and never an error."""

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


class MetadataFields(NamedTuple):
    """The fields of metadata.yml, or of the file that older sessions have instead."""

    fields: JsonObject
    preset: str
    warnings: tuple[str, ...] = ()


def find_metadata_fields(branch_dir: str) -> MetadataFields | None:
    """The metadata, with warnings about what is outdated."""
    path = f"{branch_dir}/{METADATA}"
    data, warnings = read_if_present(path), []
    if data is None and (data := read_if_present(f"{branch_dir}/{LEGACY_METADATA}")) is not None:
        path = f"{branch_dir}/{LEGACY_METADATA}"
        warnings.append(f"there is no {METADATA}, so {path} is used; {_MIGRATE}")
    fields = find_fields(data) if data is not None else None
    if fields is None:
        return None
    if not text_field(fields, "preset") and text_field(fields, "agent_type"):
        warnings.append(f"{path} calls its preset agent_type; {_MIGRATE}")
    return MetadataFields(fields, text_field(fields, "preset", "agent_type"), tuple(warnings))


def find_metadata(branch_dir: str, *, warn: Callable[[str], None] = lambda _: None) -> JsonObject | None:
    """The metadata under Lisp's names: `session_id` is `session-id`; `format.lisp` prints it as a plist."""
    metadata = find_metadata_fields(branch_dir)
    if metadata is None:
        return None
    for warning in metadata.warnings:
        warn(warning)
    return with_hyphens({**metadata.fields, "preset": metadata.preset})


def find_lineage(branch_dir: str) -> JsonObject | None:
    """branch-metadata.yml, under Lisp's names."""
    fields = find_fields(read_if_present(f"{branch_dir}/{BRANCH_METADATA}"))
    return with_hyphens(fields) if fields is not None else None


def find_scope(branch_dir: str) -> JsonObject | None:
    """scope.yml, under Lisp's names: paths, org-roam-patterns and shell-commands."""
    data = read_if_present(f"{branch_dir}/{SCOPE}")
    try:
        return with_hyphens(fields_of(read_scope(data.decode()))) if data is not None else None
    except (InvalidScopeError, UnicodeDecodeError):
        return None


def with_hyphens(fields: JsonObject) -> JsonObject:
    return {key.replace("_", "-"): value for key, value in fields.items()}


class LegacyPreset(NamedTuple):
    """A preset.md: the settings of a session from before presets were named."""

    path: str
    name: str
    """Its own name; empty if it has none."""
    settings: JsonObject
    scope: Scope | None
    """The scope in its sections; None if it has none."""
    problem: str = ""


def find_legacy_preset(branch_dir: str) -> LegacyPreset | None:
    path = f"{branch_dir}/{LEGACY_PRESET}"
    data = read_if_present(path)
    if data is None:
        return None
    try:
        document = parse_front_matter(data.decode("utf-8-sig"))
        name = text_field(document.fields, "preset", "name")
        preset = parse_preset({**document.fields, "name": name or "preset"}, document.body, name="preset", path=path)
    except (InvalidFrontMatterError, InvalidFieldError, UnicodeDecodeError) as error:
        return LegacyPreset(path, "", {}, None, f"{path}: {error}")
    try:
        scope = _scope_in(document.fields)
    except InvalidScopeError as error:
        return LegacyPreset(path, name, _given_settings(preset), None, f"{path}: {error}")
    return LegacyPreset(path, name, _given_settings(preset), scope)


def find_planned_scope(branch_dir: str) -> Scope | None:
    """The sections of a scope in scope-plan.yml."""
    try:
        return _scope_in(find_fields(read_if_present(f"{branch_dir}/{LEGACY_METADATA}")) or {})
    except InvalidScopeError:
        return None


def read_if_present(path: str) -> bytes | None:
    """The content of a small file; None if it is missing, too large or unreadable."""
    try:
        return read_small_file(path, size_bytes=SIZE_BYTES, inside=path.rpartition("/")[0])
    except (FileNotFoundError, UnusableFileError, SegueError):
        return None


def _scope_in(fields: JsonObject) -> Scope | None:
    found = {key: fields[key] for key in SECTIONS if key in fields}
    return parse_scope(found) if found else None


def _given_settings(preset: Preset) -> JsonObject:
    return {name: value for name, value in preset_settings(preset).items() if value is not None}
