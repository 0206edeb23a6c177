"""The MCP servers of Claude Code: those of the user, of the project and of both."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.integrations.shared.mcp_config import disabled_at, servers_at, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from segue.integrations.shared.mcp_config import ConfigFiles


def read_servers(files: ConfigFiles, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    own = files.read(home / environ.get("CLAUDE_CONFIG_DIR", "") / ".claude.json")
    project = value_at(own, "projects", str(root)) or value_at(own, "projects", os.path.realpath(root))
    yield servers_at(own, "mcpServers")
    yield servers_at(files.read(root / ".mcp.json"), "mcpServers") | disabled_at(project, "disabledMcpjsonServers")
    yield servers_at(project, "mcpServers") | disabled_at(project, "disabledMcpServers")
