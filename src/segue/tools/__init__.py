"""What an agent can do besides talking: read and write files, search them, run commands, call MCP servers.

Read `call` (what passes to and fro), `ability` (what one is), `files`, `search` and `shell` (those that come along),
`mcp` (those of servers), then `bench` (whether a call may be done, and the doing of it).
"""

from __future__ import annotations

from segue.tools.call import ToolCall, ToolResult, ToolSpec

__all__ = ["ToolCall", "ToolResult", "ToolSpec"]
