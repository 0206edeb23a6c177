"""Ralph's dialect: the command `ralphtool`, with which orchestrators and agents work through a change story by story.

Read `cli` and `arguments` (the commands), then `agent_commands`, `session_commands` and `json_output` (for programs),
`run`, `run_display`, `board` and `completion` (for users), `step_context` and `lifecycle` (what they share). `runner/`
runs agents over the stories, `openspec/` reads the plan. A command of an agent is a short process, so it imports
little.
"""

from __future__ import annotations

import gc
import os
from typing import NoReturn

from segue.console.entry import enter


def main() -> NoReturn:
    """The entry point of the command."""
    enter("ralphtool", _run)


def _run(args: list[str]) -> int:
    is_short = args[:1] == ["agent"]
    if is_short:
        gc.disable()  # a short process frees its memory by ending
    from segue.dialects.ralph.cli import perform

    code = perform(args)
    if is_short:
        # Everything is written and flushed. Shutting the interpreter down would take as long as the command did.
        os._exit(code)
    return code
