"""AI tools on this machine: their sessions are read in place, and conversations are handed over to them.

Read `shared.integration` (the contract), then the folder `claude`: `history` finds and reads its sessions, `reader` and
`writer` are its format, `launcher` starts it. `registry` names all integrations, `format` and `shared` are what they
have in common, and `run` starts what a launcher has prepared.
"""

from __future__ import annotations

from segue.integrations.registry import INTEGRATIONS, find_installed
from segue.integrations.shared.integration import HandoverContext, Integration, Launch, LaunchOptions

__all__ = [
    "INTEGRATIONS",
    "HandoverContext",
    "Integration",
    "Launch",
    "LaunchOptions",
    "find_installed",
]
