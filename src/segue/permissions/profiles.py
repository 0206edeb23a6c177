"""Named scopes in files, and the choice of the scope that applies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import NotFoundError, UsageError
from segue.ids import check_id
from segue.permissions.scope import SECTIONS, InvalidScopeError, Scope, parse_scope, read_scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHIPPED = Path(__file__).parent / "profiles"
"""The profiles that come with Segue; `project` is that of the default preset."""
SUFFIX = ".yml"
SIZE_BYTES = 1 << 20

Source = Literal["explicit", "profile", "preset", "none"]


class ResolvedScope(NamedTuple):
    """The scope that applies, and its source."""

    scope: Scope
    source: Source
    path: str = ""
    """The file of the scope or of the preset, if there is one."""


DENY_ALL = ResolvedScope(Scope(), "none")


def resolve_scope(
    *,
    explicit: ResolvedScope | None = None,
    profile: str = "",
    folders: Sequence[Path] = (),
    own: ResolvedScope | None = None,
) -> ResolvedScope:
    """The explicit scope, else the profile, else the `own` scope of the preset, else DENY_ALL."""
    if explicit is not None:
        return explicit
    if profile:
        return load_profile(profile, folders)
    return own or DENY_ALL


def preset_scope(fields: Mapping[str, object], path: str) -> ResolvedScope | None:
    """The scope in the fields of a preset: the sections of a scope among them, or under `scope`."""
    nested = fields.get("scope")
    found = nested if isinstance(nested, dict) else {key: fields[key] for key in SECTIONS if key in fields}
    if not found:
        return None
    try:
        return ResolvedScope(parse_scope(found), "preset", path)
    except InvalidScopeError as error:
        raise UsageError(f"{path}: {error}", hint="correct the preset") from None


def load_profile(name: str, folders: Sequence[Path]) -> ResolvedScope:
    """The profile with this name in the first folder that has it, or among those that come with Segue.

    A missing profile is an error: no other scope is used instead.
    """
    check_id(name, what="profile name")
    for folder in (*folders, SHIPPED):
        path = folder / f"{name}{SUFFIX}"
        if path.is_file():
            return ResolvedScope(read_scope_file(str(path)), "profile", str(path))
    known = sorted({path.stem for folder in (*folders, SHIPPED) for path in folder.glob(f"*{SUFFIX}")})
    raise NotFoundError(f"there is no scope profile {name!r}", hint=f"available profiles: {', '.join(known)}")


def read_scope_file(path: str) -> Scope:
    """Read the scope in a file. Raises FileNotFoundError, and UsageError with the line if the file is invalid."""
    try:
        return parse_scope_file(path, read_small_file(path, size_bytes=SIZE_BYTES))
    except UnusableFileError as error:
        raise UsageError(f"{path}: {error}", hint=_HINT) from None


def parse_scope_file(path: str, data: bytes) -> Scope:
    return read_scope_text(path, decode_scope(path, data))


def decode_scope(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise invalid_scope(path, InvalidScopeError("it is not UTF-8", data.count(b"\n", 0, error.start) + 1)) from None


def read_scope_text(path: str, text: str) -> Scope:
    try:
        return read_scope(text)
    except InvalidScopeError as error:
        raise invalid_scope(path, error) from None


def invalid_scope(path: str, error: InvalidScopeError) -> UsageError:
    location = f"{path} line {error.line}" if error.line else path
    return UsageError(f"{location}: {error}", hint=_HINT)


_HINT = "correct it by hand; nothing was changed, and nothing is allowed until then"
