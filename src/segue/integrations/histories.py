"""The conversations that AI tools keep on this machine, read in place.

Read `history` (the contract), then `claude` (a file each), then `opencode` (a database). How their files look is in
`formats.foreign`; nothing here starts a tool or changes a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.aider.history import AiderHistory
from segue.integrations.claude.history import ClaudeHistory
from segue.integrations.codex.history import CodexHistory
from segue.integrations.gemini.history import GeminiHistory
from segue.integrations.history import ExternalSession, History, OpenedTranscript, PreviewHistory, find_external
from segue.integrations.index_source import IntegrationSource, PreviewSource
from segue.integrations.llm.history import LlmHistory
from segue.integrations.opencode.history import OpencodeHistory
from segue.integrations.pi.history import PiHistory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segue.index import Source

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


def integration_sources(home: Path, environ: Mapping[str, str]) -> list[Source]:
    """Of the tools that have kept anything here."""
    found = [history for history in HISTORIES.values() if _has_any(history, home, environ)]
    return [_source(history, home, environ) for history in found]


def _source(history: History, home: Path, environ: Mapping[str, str]) -> IntegrationSource:
    if isinstance(history, PreviewHistory):
        return PreviewSource(history, home, environ)
    return IntegrationSource(history, home, environ)


def _has_any(history: History, home: Path, environ: Mapping[str, str]) -> bool:
    try:
        return next(history.kept(home, environ), None) is not None
    except Exception:  # noqa: BLE001 - one odd place costs only itself
        return True  # whoever scans it hears why it cannot be looked at


__all__ = [
    "HISTORIES",
    "ExternalSession",
    "History",
    "IntegrationSource",
    "OpenedTranscript",
    "find_external",
    "integration_sources",
]
