"""What tools may touch, as a value and as YAML; how a file that people keep is added to is in `scope_edits`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from segue.formats.yaml import InvalidYamlError, load_yaml
from segue.model import JsonObject

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_ROOT = "${project_root}"
SIZE_CHARACTERS = 256 * 1024
NODES = 20_000
LENGTH = 4096
"""Of one pattern; no path is longer."""
STARS_WITHIN = 3
"""How many `**` of a pattern that denies may be within names, since each doubles the ways to read it."""


class Scope(Struct, frozen=True, kw_only=True):
    """Patterns of paths and of commands; whatever no pattern allows is denied, and deny wins."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """Paths that are neither read nor written, whatever else allows them."""
    shell_allow: tuple[str, ...] = ()
    shell_deny: tuple[str, ...] = ()
    org_roam_patterns: JsonObject | tuple[str, ...] = ()
    """For the tools of Org-roam; kept as it is."""
    network: bool = False
    """Whether commands may reach the network."""
    sandbox: bool = True
    """Whether the kernel holds commands to all this, where it can."""
    extra: JsonObject = {}
    """Fields that are not known here."""


class InvalidScopeError(InvalidYamlError):
    """Why a text, or its fields, make no scope."""


class PatternList(NamedTuple):
    section: str
    key: str
    is_path: bool


LISTS = {
    "read": PatternList("paths", "read", is_path=True),
    "write": PatternList("paths", "write", is_path=True),
    "deny": PatternList("paths", "deny", is_path=True),
    "shell_allow": PatternList("shell_commands", "allow", is_path=False),
    "shell_deny": PatternList("shell_commands", "deny", is_path=False),
}
"""Where each list of patterns stands in a file."""

SECTIONS = ("paths", "org_roam_patterns", "shell_commands")
SWITCHES = {"network": False, "sandbox": True}
"""Fields that are true or false, and what holds where they are not said."""


def scope_of(fields: Mapping[str, object]) -> Scope:
    """The scope that these fields say. Raises InvalidScopeError."""
    lists: dict[str, tuple[str, ...]] = {}
    for name, place in LISTS.items():
        section = fields.get(place.section)
        if isinstance(section, list) and name == "shell_allow":
            section = {"allow": section}
        if not isinstance(section, dict | None) and not (name == "shell_deny" and isinstance(section, list)):
            raise InvalidScopeError(f"{place.section} must be a mapping, not {_kind(section)}")
        found = section.get(place.key) if isinstance(section, dict) else None
        lists[name] = _patterns(f"{place.section}.{place.key}", found, is_path=place.is_path)
    roam = fields.get("org_roam_patterns")
    if isinstance(roam, dict):
        kept: JsonObject | tuple[str, ...] = {
            key: list(_patterns(f"org_roam_patterns.{key}", value, is_path=False)) for key, value in roam.items()
        }
    else:
        kept = _patterns("org_roam_patterns", roam, is_path=False)
    switches = {name: _switch(name, fields.get(name, usual)) for name, usual in SWITCHES.items()}
    extra = {key: value for key, value in fields.items() if key not in SECTIONS and key not in SWITCHES}
    for section in ("paths", "shell_commands"):
        known = {place.key for place in LISTS.values() if place.section == section}
        value = fields.get(section)
        if isinstance(value, dict) and (odd := sorted(value.keys() - known)):
            # A misspelt `deny` that is passed over in silence would open what it was to close.
            raise InvalidScopeError(f"{section} has no {odd[0]!r}, only {', '.join(sorted(known))}")
    return Scope(**lists, org_roam_patterns=kept, network=switches["network"], sandbox=switches["sandbox"], extra=extra)


def fields_of(scope: Scope) -> JsonObject:
    """The same as JSON: what a session records, and what `scope_of` reads."""
    fields: JsonObject = {"paths": {}, "org_roam_patterns": {}, "shell_commands": {}}
    for name, place in LISTS.items():
        section = fields[place.section]
        if isinstance(section, dict):
            section[place.key] = list(getattr(scope, name))
    roam = scope.org_roam_patterns
    fields["org_roam_patterns"] = dict(roam) if isinstance(roam, dict) else list(roam)
    return {**fields, **_said(scope), **scope.extra}


@lru_cache(maxsize=32)
def read_scope(text: str) -> Scope:
    """The scope that a file says. Raises InvalidScopeError, with the line where it can be known."""
    try:
        found = load_yaml(text.removeprefix("\ufeff"), size=SIZE_CHARACTERS, nodes=NODES)
    except InvalidYamlError as error:
        raise InvalidScopeError(str(error), error.line) from None
    if not isinstance(found, dict | None):
        raise InvalidScopeError(f"it must be a mapping, not {_kind(found)}", 1)
    try:
        return scope_of(found or {})
    except InvalidScopeError as error:
        raise InvalidScopeError(str(error), _line_of(text, str(error).partition(" ")[0])) from None


def write_scope(scope: Scope) -> str:
    """A new file that says this."""
    from json import dumps

    lines: list[str] = []
    sections: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, place in LISTS.items():
        sections.setdefault(place.section, {})[place.key] = getattr(scope, name)
    for section, lists in sections.items():
        lines.append(f"{section}:")
        for key, patterns in lists.items():
            lines.append(f"  {key}:" if patterns else f"  {key}: []")
            lines.extend(f"    - {quoted(pattern)}" for pattern in patterns)
    roam = fields_of(scope)["org_roam_patterns"]
    rest = {"org_roam_patterns": roam, **_said(scope), **{quoted(key): value for key, value in scope.extra.items()}}
    # JSON is YAML, as long as there is nothing but ASCII in it.
    lines.extend(f"{key}: {_json(dumps(value))}" for key, value in rest.items())
    return "\n".join(lines) + "\n"


def expanded(scope: Scope, project_root: str) -> Scope:
    """The scope with the root of a project written out. InvalidScopeError if the root would be taken for a pattern."""
    if re.search(r"[*?]", project_root):
        raise InvalidScopeError(f"{project_root} holds * or ?, which no pattern can name")
    lists = {
        name: tuple(pattern.replace(PROJECT_ROOT, project_root) for pattern in getattr(scope, name))
        for name, place in LISTS.items()
        if place.is_path
    }
    return Scope(
        **lists,
        shell_allow=scope.shell_allow,
        shell_deny=scope.shell_deny,
        org_roam_patterns=scope.org_roam_patterns,
        network=scope.network,
        sandbox=scope.sandbox,
        extra=scope.extra,
    )


def with_pattern(scope: Scope, name: str, pattern: str) -> Scope:
    """The scope with one more pattern in one of its LISTS; the same scope if it has it already."""
    fields = fields_of(scope)
    place = LISTS[name]
    known = getattr(scope, name)
    _patterns(f"{place.section}.{place.key}", [pattern], is_path=place.is_path)
    if pattern in known:
        return scope
    section = fields[place.section]
    if isinstance(section, dict):
        section[place.key] = [*known, pattern]
    return scope_of(fields)


def quoted(text: str) -> str:
    """A YAML scalar in double quotes."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 1 << 8 else f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def _json(text: str) -> str:
    """JSON says what lies beyond 16 bits in two halves; YAML says it in one piece."""
    pairs = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
    return pairs.sub(lambda m: f"\\U{0x10000 + (int(m[1], 16) - 0xD800) * 0x400 + int(m[2], 16) - 0xDC00:08x}", text)


def _patterns(field: str, value: object, *, is_path: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidScopeError(f"{field} must be a list, not {_kind(value)}")
    for pattern in value:
        if not isinstance(pattern, str):
            raise InvalidScopeError(f"{field} must hold texts, not {_kind(pattern)}: put it in quotes")
        if not pattern.strip() or len(pattern) > LENGTH or re.search(r"[\x00-\x1f\x7f]", pattern):
            raise InvalidScopeError(f"{field} must hold patterns of 1 to {LENGTH} visible characters")
        if is_path and ".." in pattern.split("/"):
            raise InvalidScopeError(f"{field} must hold no pattern with ..: write where it leads ({pattern})")
        if field == "paths.deny" and len(re.findall(r"(?<![/*])\*\*+(?![/*]|$)", pattern)) > STARS_WITHIN:
            raise InvalidScopeError(
                f"{field} must hold patterns with {STARS_WITHIN} ** within names at most: {pattern}"
            )
        if (
            is_path
            and PROJECT_ROOT in pattern
            and not re.match(r"\$\{project_root\}(?:/(?!.*\$\{project_root\})|$)", pattern)
        ):
            raise InvalidScopeError(f"{field} may have {PROJECT_ROOT} only as the first folder of a pattern")
    return tuple(dict.fromkeys(value))


def _said(scope: Scope) -> JsonObject:
    """The switches that are not as usual."""
    return {name: getattr(scope, name) for name, usual in SWITCHES.items() if getattr(scope, name) is not usual}


def _switch(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidScopeError(f"{field} must be true or false, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "a text"
        case None:
            return "nothing"
        case _:
            return str(value).lower()


def _line_of(text: str, field: str) -> int:
    """Where `section.key` stands; where the section begins if the key is not to be seen."""
    section, _, key = field.partition(".")
    found = 0
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip().strip("\ufeff\"'")
        if not found and words.startswith(section):
            found = number
        if found and key and re.match(rf"[\"']?{re.escape(key)}[\"']?\s*:", words):
            return number
    return found
