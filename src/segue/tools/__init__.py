"""AI tools on this machine: started with a conversation of ours, and read back when they have ended.

Read `tool` (the contract), then `claude` (the simplest). How their transcripts look is in `formats.foreign`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.foreign.transcript import Transcript
from segue.tools.claude import Claude
from segue.tools.codex import Codex
from segue.tools.gemini import Gemini
from segue.tools.opencode import Opencode
from segue.tools.pi import Pi
from segue.tools.run import run
from segue.tools.tool import Context, Launch, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

TOOLS: dict[str, Tool] = {kind.name: Tool(kind=kind) for kind in (Claude(), Codex(), Gemini(), Opencode(), Pi())}


def find_tools(environ: Mapping[str, str]) -> tuple[Tool, ...]:
    """Those that are on the PATH. Starts nothing."""
    return tuple(tool for tool in TOOLS.values() if tool.find(environ) is not None)


__all__ = ["TOOLS", "Context", "Launch", "Tool", "Transcript", "find_tools", "run"]
