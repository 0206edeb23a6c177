"""The MCP servers that an AI tool has in a workspace, as its configuration files and those of the workspace name them.

Only names are taken from those files: commands, addresses and tokens stay in them. Nothing is started. A missing file
names no servers; an unreadable one is reported with its place, and affects only itself.
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
    from collections.abc import Mapping
    from pathlib import Path

    from segue.integrations.shared.integration import Integration

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


class ConfiguredServers(NamedTuple):
    names: tuple[str, ...]
    """Sorted, without those that are disabled."""
    problems: tuple[Damage, ...]


def find_mcp_servers(
    integration: Integration | None, root: Path, home: Path, environ: Mapping[str, str]
) -> ConfiguredServers:
    """From the files of the user, of the project and of the workspace; the last one to name a server decides.

    Without an integration, only from those of the workspace.
    """
    files = ConfigFiles()
    is_enabled: dict[str, bool] = {}
    config = integration.mcp_config if integration is not None else None
    if config is not None:
        for found in config.read_servers(files, root, home, environ):
            is_enabled |= found
    is_enabled |= servers_at(files.read(root / ".workspace" / "mcp.json"), "mcpServers")
    names = sorted(name for name, enabled in is_enabled.items() if enabled)
    return ConfiguredServers(tuple(names), tuple(files.problems))


class ConfigFiles:
    """Reads configuration files as far as possible, and collects the problems."""

    def __init__(self) -> None:
        self.problems: list[Damage] = []

    def read(self, path: Path) -> object:
        """The content of a JSON or TOML file; None if there is none that can be read."""
        try:
            folder, _, name = os.path.realpath(path).rpartition("/")
            text = Folder(folder or "/").read(name).decode("utf-8-sig")
            return tomllib.loads(text) if path.suffix == ".toml" else json.loads(_without_comments(text))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except SegueError as error:
            self._report(path, str(error).rpartition(": ")[2])
        except UnicodeDecodeError as error:
            self._report(path, "it is not UTF-8", error.object.count(b"\n", 0, error.start) + 1)
        except json.JSONDecodeError as error:
            self._report(path, "it is not JSON", error.lineno)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\(at line (\d+)", str(error))
            self._report(path, "it is not TOML", int(found[1]) if found else 0)
        except (RecursionError, ValueError):  # endless nesting, or a number with thousands of digits
            self._report(path, "it contains more than can be read")
        return None

    def _report(self, path: Path, reason: str, line: int = 0) -> None:
        self.problems.append(Damage(f"{path} line {line}" if line else str(path), reason, line))


def value_at(config: object, *keys: str) -> object:
    """The value under these keys, one inside the other; None if there is none."""
    for key in keys:
        config = config.get(key) if isinstance(config, dict) else None
    return config


def servers_at(config: object, *keys: str) -> dict[str, bool]:
    """The names in a table, and whether each is enabled."""
    table = value_at(config, *keys)
    if not isinstance(table, dict):
        return {}
    return {
        name: value_at(server, "enabled") is not False and value_at(server, "disabled") is not True
        for name, server in table.items()
    }


def disabled_at(config: object, *keys: str) -> dict[str, bool]:
    """The names in a list of servers that are disabled."""
    names = value_at(config, *keys)
    return {name: False for name in names if isinstance(name, str)} if isinstance(names, list) else {}


def _without_comments(text: str) -> str:
    """JSON without what the tools accept in it: comments, and commas at the end. Every line keeps its number."""
    bare = _COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
    return _LAST_COMMA.sub(lambda match: match[1] or "", bare)
