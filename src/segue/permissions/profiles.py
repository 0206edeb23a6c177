"""Named scopes in files, and which scope holds where several could."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import NotFoundError, UsageError
from segue.ids import check_id
from segue.permissions.scope import SECTIONS, InvalidScopeError, Scope, read_scope, scope_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHIPPED = Path(__file__).parent / "profiles"
"""Profiles that come with Segue; `project` is the one of the default preset."""
SUFFIX = ".yml"
SIZE_BYTES = 1 << 20

Source = Literal["explicit", "profile", "preset", "none"]


class Resolved(NamedTuple):
    """The scope that holds, and where it comes from."""

    scope: Scope
    source: Source
    place: str = ""
    """The file or the preset, where there is one."""


DENY_ALL = Resolved(Scope(), "none")


def resolve_scope(
    *, explicit: Resolved | None = None, profile: str = "", folders: Sequence[Path] = (), own: Resolved | None = None
) -> Resolved:
    """What is said explicitly, else the profile, else what the preset says itself, else nothing at all is allowed."""
    if explicit is not None:
        return explicit
    if profile:
        return load_profile(profile, folders)
    return own or DENY_ALL


def own_scope(fields: Mapping[str, object], place: str) -> Resolved | None:
    """What a preset says itself: the sections of a scope among its fields, or under `scope`."""
    under = fields.get("scope")
    found = under if isinstance(under, dict) else {key: fields[key] for key in SECTIONS if key in fields}
    if not found:
        return None
    try:
        return Resolved(scope_of(found), "preset", place)
    except InvalidScopeError as error:
        raise UsageError(f"{place}: {error}", hint="correct the preset") from None


def load_profile(name: str, folders: Sequence[Path]) -> Resolved:
    """The profile of this name in the first folder that has it, or among those that come with Segue.

    A profile that is named and not there is an error, and no reason to look for another scope.
    """
    check_id(name, what="profile name")
    for folder in (*folders, SHIPPED):
        path = folder / f"{name}{SUFFIX}"
        if path.is_file():
            return Resolved(read_scope_file(str(path)), "profile", str(path))
    known = sorted({path.stem for folder in (*folders, SHIPPED) for path in folder.glob(f"*{SUFFIX}")})
    raise NotFoundError(f"there is no scope profile {name!r}", hint=f"there are {', '.join(known)}")


def read_scope_file(path: str) -> Scope:
    """What a file says; a file that is wrong says where. FileNotFoundError if there is none."""
    try:
        return parse_scope_file(path, read_small_file(path, size_bytes=SIZE_BYTES))
    except UnusableFileError as error:
        raise UsageError(f"{path}: {error}", hint=_HINT) from None


def parse_scope_file(path: str, data: bytes) -> Scope:
    return read_scope_text(path, decoded(path, data))


def decoded(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise invalid(path, InvalidScopeError("it is not UTF-8", data.count(b"\n", 0, error.start) + 1)) from None


def read_scope_text(path: str, text: str) -> Scope:
    try:
        return read_scope(text)
    except InvalidScopeError as error:
        raise invalid(path, error) from None


def invalid(path: str, error: InvalidScopeError) -> UsageError:
    place = f"{path} line {error.line}" if error.line else path
    return UsageError(f"{place}: {error}", hint=_HINT)


_HINT = "correct it by hand: nothing was changed, and until then nothing is allowed"
