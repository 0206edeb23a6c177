"""The MCP servers of Codex: those of the user, and those of a project that Codex trusts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.integrations.shared.mcp_config import servers_at, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from segue.integrations.shared.mcp_config import ConfigFiles


def read_servers(files: ConfigFiles, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    own = files.read(home / (environ.get("CODEX_HOME") or ".codex") / "config.toml")
    yield servers_at(own, "mcp_servers")
    trusts = {value_at(own, "projects", path, "trust_level") for path in (str(root), os.path.realpath(root))}
    if "trusted" in trusts:  # Codex ignores the file in any other project
        yield servers_at(files.read(root / ".codex" / "config.toml"), "mcp_servers")
