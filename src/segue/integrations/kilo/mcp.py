"""The MCP servers of Kilo: those of the user, of a named file, and of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.kilo.product import KILO
from segue.integrations.opencode.mcp import read_servers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from segue.integrations.shared.mcp_config import ConfigFiles


def read_servers(files: ConfigFiles, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    return read_servers_of(KILO, files, root, home, environ)
