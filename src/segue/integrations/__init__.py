"""AI tools on this machine: started with a conversation of ours, and read back when they have ended.

Read `tool` (the contract), then `claude` (the simplest). How their transcripts look is in `formats.foreign`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.claude.launcher import Claude
from segue.integrations.codex.launcher import Codex
from segue.integrations.format.transcript import Transcript
from segue.integrations.gemini.launcher import Gemini
from segue.integrations.integration import HandoverContext, Integration, Launch
from segue.integrations.opencode.launcher import Opencode
from segue.integrations.pi.launcher import Pi

if TYPE_CHECKING:
    from collections.abc import Mapping

INTEGRATIONS: dict[str, Integration] = {
    kind.name: Integration(kind=kind) for kind in (Claude(), Codex(), Gemini(), Opencode(), Pi())
}


def find_installed(environ: Mapping[str, str]) -> tuple[Integration, ...]:
    """Those that are on the PATH. Starts nothing."""
    return tuple(tool for tool in INTEGRATIONS.values() if tool.find(environ) is not None)


__all__ = ["INTEGRATIONS", "HandoverContext", "Integration", "Launch", "Transcript", "find_installed"]
