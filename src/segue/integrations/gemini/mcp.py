"""The MCP servers of Gemini CLI: those of the user and of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.shared.mcp_config import disabled_at, servers_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from segue.integrations.shared.mcp_config import ConfigFiles


def read_servers(files: ConfigFiles, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    for folder in (home / environ.get("GEMINI_CLI_HOME", ""), root):
        settings = files.read(folder / ".gemini" / "settings.json")
        yield servers_at(settings, "mcpServers") | disabled_at(settings, "mcp", "excluded")
