"""Which MCP servers an AI tool has in a workspace, by the files in which it and the workspace say so.

Names and nothing else come out of those files: commands, addresses and tokens stay in them. Nothing is started. A file
that is missing names none; one that cannot be read is told with its place, and costs only itself.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import TYPE_CHECKING, NamedTuple

from segue.durable.folder import Folder
from segue.errors import Damage, SegueError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_IN_JSON = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


class ConfiguredServers(NamedTuple):
    names: tuple[str, ...]
    """Sorted; those that are switched off are left out."""
    problems: tuple[Damage, ...]


def mcp_servers(tool: str, root: Path, home: Path, environ: Mapping[str, str]) -> ConfiguredServers:
    """By the files of the user, of the project and of the workspace; the last one to name a server decides."""
    files = _Files()
    is_on: dict[str, bool] = {}
    for named in _NAMED.get(tool, _nothing)(files, root, home, environ):
        is_on |= named
    is_on |= _servers(files.read(root / ".workspace" / "mcp.json"), "mcpServers")
    return ConfiguredServers(tuple(sorted(name for name, is_used in is_on.items() if is_used)), tuple(files.problems))


class _Files:
    """Reads each file as far as it can be read, and remembers what was wrong."""

    def __init__(self) -> None:
        self.problems: list[Damage] = []

    def read(self, path: Path) -> object:
        """What the file holds; None if there is nothing to be read."""
        try:
            folder, _, name = os.path.realpath(path).rpartition("/")
            text = Folder(folder or "/").read(name).decode("utf-8-sig")
            return tomllib.loads(text) if path.suffix == ".toml" else json.loads(_without_comments(text))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except SegueError as error:
            self._note(path, str(error).rpartition(": ")[2])
        except UnicodeDecodeError as error:
            self._note(path, "it is not UTF-8", error.object.count(b"\n", 0, error.start) + 1)
        except json.JSONDecodeError as error:
            self._note(path, "it is not JSON", error.lineno)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\(at line (\d+)", str(error))
            self._note(path, "it is not TOML", int(found[1]) if found else 0)
        except (RecursionError, ValueError):  # nested without end, or a number with thousands of digits
            self._note(path, "it holds more than can be read")
        return None

    def _note(self, path: Path, reason: str, line: int = 0) -> None:
        self.problems.append(Damage(f"{path} line {line}" if line else str(path), reason, line))


def _claude(files: _Files, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    own = files.read(home / environ.get("CLAUDE_CONFIG_DIR", "") / ".claude.json")
    project = _at(own, "projects", str(root)) or _at(own, "projects", os.path.realpath(root))
    yield _servers(own, "mcpServers")
    yield _servers(files.read(root / ".mcp.json"), "mcpServers") | _off(project, "disabledMcpjsonServers")
    yield _servers(project, "mcpServers") | _off(project, "disabledMcpServers")


def _gemini(files: _Files, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    for folder in (home / environ.get("GEMINI_CLI_HOME", ""), root):
        settings = files.read(folder / ".gemini" / "settings.json")
        yield _servers(settings, "mcpServers") | _off(settings, "mcp", "excluded")


def _opencode(files: _Files, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    own = home / (environ.get("XDG_CONFIG_HOME") or ".config") / "opencode"
    paths = [folder / f"opencode.{kind}" for folder in (own, root, root / ".opencode") for kind in ("json", "jsonc")]
    if named := environ.get("OPENCODE_CONFIG"):
        paths.insert(2, home / named)
    for path in paths:
        found = files.read(path)
        # In the second version the servers have a table of their own; in the first, that name could be a server's.
        has_table = isinstance(_at(found, "mcp", "servers"), dict) and not isinstance(
            _at(found, "mcp", "servers", "type"), str
        )
        yield _servers(found, "mcp", "servers") if has_table else _servers(found, "mcp")


def _codex(files: _Files, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    own = files.read(home / (environ.get("CODEX_HOME") or ".codex") / "config.toml")
    yield _servers(own, "mcp_servers")
    trusts = {_at(own, "projects", path, "trust_level") for path in (str(root), os.path.realpath(root))}
    if "trusted" in trusts:  # in any other project Codex leaves the file alone
        yield _servers(files.read(root / ".codex" / "config.toml"), "mcp_servers")


def _nothing(*_: object) -> Iterator[dict[str, bool]]:
    return iter(())


_NAMED = {"claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode}


def _at(found: object, *keys: str) -> object:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _servers(found: object, *keys: str) -> dict[str, bool]:
    """The names in a table, and whether each is switched on."""
    table = _at(found, *keys)
    if not isinstance(table, dict):
        return {}
    return {
        name: _at(server, "enabled") is not False and _at(server, "disabled") is not True
        for name, server in table.items()
    }


def _off(found: object, *keys: str) -> dict[str, bool]:
    names = _at(found, *keys)
    return {name: False for name in names if isinstance(name, str)} if isinstance(names, list) else {}


def _without_comments(text: str) -> str:
    """As the tools take it: with comments and commas at the end. Every line keeps its number."""
    bare = _IN_JSON.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
    return _LAST_COMMA.sub(lambda match: match[1] or "", bare)
