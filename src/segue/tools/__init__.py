"""The tools that a model can call: files, search, shell commands and MCP servers.

Read `call` (requests and results), `tool` (what a tool is), `files`, `search` and `shell` (the built-in tools), `mcp`
(tools of MCP servers), then `executor` (checks a call against the scope and runs it).
"""

from __future__ import annotations

from segue.tools.call import ToolCall, ToolResult, ToolSpec

__all__ = ["ToolCall", "ToolResult", "ToolSpec"]
