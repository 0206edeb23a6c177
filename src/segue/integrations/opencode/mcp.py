"""The MCP servers of opencode: those of the user, of a named file, and of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.opencode.config import config_paths
from segue.integrations.opencode.product import OPENCODE
from segue.integrations.shared.mcp_config import servers_at, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from segue.integrations.opencode.product import Product
    from segue.integrations.shared.mcp_config import ConfigFiles


def read_servers(files: ConfigFiles, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[dict[str, bool]]:
    return read_servers_of(OPENCODE, files, root, home, environ)


def read_servers_of(
    product: Product, files: ConfigFiles, root: Path, home: Path, environ: Mapping[str, str]
) -> Iterator[dict[str, bool]]:
    for path in config_paths(product, [root], home, environ):
        config = files.read(path)
        # In the second version the servers have a table of their own; in the first, that name could be a server's.
        has_table = isinstance(value_at(config, "mcp", "servers"), dict) and not isinstance(
            value_at(config, "mcp", "servers", "type"), str
        )
        yield servers_at(config, "mcp", "servers") if has_table else servers_at(config, "mcp")
