"""A scope as a value and as YAML. Edits of a YAML file that keep its layout are in `scope_edits`."""

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
"""The maximum length of a pattern; no path is longer."""
STARS_WITHIN = 3
"""The maximum number of `**` within names of a deny pattern: each doubles the number of alternatives."""


class Scope(Struct, frozen=True, kw_only=True):
    """Patterns of paths and commands. What no pattern allows is denied, and deny wins."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """Paths that are never read or written, even if another pattern allows them."""
    shell_allow: tuple[str, ...] = ()
    shell_deny: tuple[str, ...] = ()
    org_roam_patterns: JsonObject | tuple[str, ...] = ()
    """For the tools of Org-roam; stored unchanged."""
    network: bool = False
    """Whether commands may use the network."""
    sandbox: bool = True
    """Whether commands run in a sandbox, if the kernel has one."""
    extra: JsonObject = {}
    """Unknown fields."""


class InvalidScopeError(InvalidYamlError):
    """Why a text or its fields are not a valid scope."""


class PatternList(NamedTuple):
    """The position of a list of patterns in a file."""

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
"""The lists of patterns, by the name of their field in Scope."""

SECTIONS = ("paths", "org_roam_patterns", "shell_commands")
SWITCHES = {"network": False, "sandbox": True}
"""Fields that are true or false, with their defaults."""


def parse_scope(fields: Mapping[str, object]) -> Scope:
    """Parse the fields of a scope. Raises InvalidScopeError."""
    lists: dict[str, tuple[str, ...]] = {}
    for name, position in LISTS.items():
        section = fields.get(position.section)
        if isinstance(section, list) and name == "shell_allow":
            section = {"allow": section}
        if not isinstance(section, dict | None) and not (name == "shell_deny" and isinstance(section, list)):
            raise InvalidScopeError(f"{position.section} must be a mapping, not {_kind(section)}")
        found = section.get(position.key) if isinstance(section, dict) else None
        lists[name] = _patterns(f"{position.section}.{position.key}", found, is_path=position.is_path)
    roam = fields.get("org_roam_patterns")
    if isinstance(roam, dict):
        patterns: JsonObject | tuple[str, ...] = {
            key: list(_patterns(f"org_roam_patterns.{key}", value, is_path=False)) for key, value in roam.items()
        }
    else:
        patterns = _patterns("org_roam_patterns", roam, is_path=False)
    switches = {name: _switch(name, fields.get(name, default)) for name, default in SWITCHES.items()}
    extra = {key: value for key, value in fields.items() if key not in SECTIONS and key not in SWITCHES}
    for section in ("paths", "shell_commands"):
        known = {position.key for position in LISTS.values() if position.section == section}
        value = fields.get(section)
        if isinstance(value, dict) and (unknown := sorted(value.keys() - known)):
            # A misspelt `deny` must not be ignored: it would leave open what it should close.
            raise InvalidScopeError(f"{section} has no {unknown[0]!r}, only {', '.join(sorted(known))}")
    return Scope(
        **lists, org_roam_patterns=patterns, network=switches["network"], sandbox=switches["sandbox"], extra=extra
    )


def fields_of(scope: Scope) -> JsonObject:
    """The scope as JSON: a session records this, and `parse_scope` reads it."""
    fields: JsonObject = {"paths": {}, "org_roam_patterns": {}, "shell_commands": {}}
    for name, position in LISTS.items():
        section = fields[position.section]
        if isinstance(section, dict):
            section[position.key] = list(getattr(scope, name))
    roam = scope.org_roam_patterns
    fields["org_roam_patterns"] = dict(roam) if isinstance(roam, dict) else list(roam)
    return {**fields, **_changed_switches(scope), **scope.extra}


@lru_cache(maxsize=32)
def read_scope(text: str) -> Scope:
    """Parse the YAML of a scope. Raises InvalidScopeError, with the line if it is known."""
    try:
        found = load_yaml(text.removeprefix("\ufeff"), size=SIZE_CHARACTERS, nodes=NODES)
    except InvalidYamlError as error:
        raise InvalidScopeError(str(error), error.line) from None
    if not isinstance(found, dict | None):
        raise InvalidScopeError(f"it must be a mapping, not {_kind(found)}", 1)
    try:
        return parse_scope(found or {})
    except InvalidScopeError as error:
        raise InvalidScopeError(str(error), _line_of(text, str(error).partition(" ")[0])) from None


def write_scope(scope: Scope) -> str:
    """Format a scope as YAML."""
    from json import dumps

    lines: list[str] = []
    sections: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, position in LISTS.items():
        sections.setdefault(position.section, {})[position.key] = getattr(scope, name)
    for section, lists in sections.items():
        lines.append(f"{section}:")
        for key, patterns in lists.items():
            lines.append(f"  {key}:" if patterns else f"  {key}: []")
            lines.extend(f"    - {quote(pattern)}" for pattern in patterns)
    roam = fields_of(scope)["org_roam_patterns"]
    rest = {
        "org_roam_patterns": roam,
        **_changed_switches(scope),
        **{quote(key): value for key, value in scope.extra.items()},
    }
    # ASCII JSON is valid YAML.
    lines.extend(f"{key}: {_json(dumps(value))}" for key, value in rest.items())
    return "\n".join(lines) + "\n"


def expand_project_root(scope: Scope, project_root: str) -> Scope:
    """Replace the project root in all patterns. InvalidScopeError if the root contains wildcard characters."""
    if re.search(r"[*?]", project_root):
        raise InvalidScopeError(f"{project_root} contains * or ?, which no pattern can express")
    lists = {
        name: tuple(pattern.replace(PROJECT_ROOT, project_root) for pattern in getattr(scope, name))
        for name, position in LISTS.items()
        if position.is_path
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
    """Add a pattern to one of the LISTS; returns the same scope if it is there already."""
    fields = fields_of(scope)
    position = LISTS[name]
    known = getattr(scope, name)
    _patterns(f"{position.section}.{position.key}", [pattern], is_path=position.is_path)
    if pattern in known:
        return scope
    section = fields[position.section]
    if isinstance(section, dict):
        section[position.key] = [*known, pattern]
    return parse_scope(fields)


def quote(text: str) -> str:
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
    """Replace surrogate pairs, which JSON uses above 16 bits, by the escapes of YAML."""
    pairs = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
    return pairs.sub(lambda m: f"\\U{0x10000 + (int(m[1], 16) - 0xD800) * 0x400 + int(m[2], 16) - 0xDC00:08x}", text)


def _patterns(field: str, value: object, *, is_path: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidScopeError(f"{field} must be a list, not {_kind(value)}")
    for pattern in value:
        if not isinstance(pattern, str):
            raise InvalidScopeError(f"{field} must contain strings, not {_kind(pattern)}: put it in quotes")
        if not pattern.strip() or len(pattern) > LENGTH or re.search(r"[\x00-\x1f\x7f]", pattern):
            raise InvalidScopeError(f"{field} must contain patterns of 1 to {LENGTH} visible characters")
        if is_path and ".." in pattern.split("/"):
            raise InvalidScopeError(f"{field} must not contain ..: write the resolved path instead ({pattern})")
        if field == "paths.deny" and len(re.findall(r"(?<![/*])\*\*+(?![/*]|$)", pattern)) > STARS_WITHIN:
            raise InvalidScopeError(
                f"{field} must contain patterns with at most {STARS_WITHIN} ** within names: {pattern}"
            )
        if (
            is_path
            and PROJECT_ROOT in pattern
            and not re.match(r"\$\{project_root\}(?:/(?!.*\$\{project_root\})|$)", pattern)
        ):
            raise InvalidScopeError(f"{field} may contain {PROJECT_ROOT} only as the first folder of a pattern")
    return tuple(dict.fromkeys(value))


def _changed_switches(scope: Scope) -> JsonObject:
    """The switches that differ from their defaults."""
    return {name: getattr(scope, name) for name, default in SWITCHES.items() if getattr(scope, name) is not default}


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
            return "a string"
        case None:
            return "nothing"
        case _:
            return str(value).lower()


def _line_of(text: str, field: str) -> int:
    """The line of `section.key`; the first line of the section if the key is not found."""
    section, _, key = field.partition(".")
    found = 0
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip().strip("\ufeff\"'")
        if not found and stripped.startswith(section):
            found = number
        if found and key and re.match(rf"[\"']?{re.escape(key)}[\"']?\s*:", stripped):
            return number
    return found
