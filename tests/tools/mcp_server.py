"""A small MCP server, made with the official library, to be run as a program of its own."""

from __future__ import annotations

import os
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("notes")


@server.tool()
def add(text: str) -> str:
    """Add a note."""
    with Path("notes.txt").open("a", encoding="utf-8") as notes:
        notes.write(f"{text}\n")
    return f"noted: {text}"


@server.tool(name="count.all", annotations=ToolAnnotations(read_only_hint=True))
def count() -> str:
    """Count the notes."""
    return str(len(Path("notes.txt").read_text(encoding="utf-8").splitlines()))


@server.tool()
def environment() -> str:
    """Tell which variables there are."""
    return " ".join(sorted(os.environ))


@server.tool()
def hang() -> str:
    """Never answer."""
    with Path("held").open(encoding="utf-8") as held:
        return held.read()


@server.tool()
def end() -> str:
    """Be gone."""
    os._exit(3)


if __name__ == "__main__":
    server.run("stdio")
