"""The conversations that AI tools keep on this machine, read in place.

Read `history` (the contract), then `claude` (a file each), then `opencode` (a database). How their files look is in
`formats.foreign`; nothing here starts a tool or changes a file.
"""

from __future__ import annotations

from segue.tools.histories.aider import AiderHistory
from segue.tools.histories.claude import ClaudeHistory
from segue.tools.histories.codex import CodexHistory
from segue.tools.histories.gemini import GeminiHistory
from segue.tools.histories.history import History, Kept, Reading, find_kept
from segue.tools.histories.llm import LlmHistory
from segue.tools.histories.opencode import OpencodeHistory
from segue.tools.histories.pi import PiHistory
from segue.tools.histories.source import ToolSource, tool_sources

HISTORIES: dict[str, History] = {
    history.name: history
    for history in (
        ClaudeHistory(),
        CodexHistory(),
        GeminiHistory(),
        OpencodeHistory(),
        PiHistory(),
        LlmHistory(),
        AiderHistory(),
    )
}

__all__ = ["HISTORIES", "History", "Kept", "Reading", "ToolSource", "find_kept", "tool_sources"]
