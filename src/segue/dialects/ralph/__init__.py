"""Ralph's dialect: the command `ralphtool`, by which orchestrators and agents work through a change story by story.

Read `arguments` and `cli` (the commands), then `session_commands`, `agent_commands` and `json_output` (what programs
call and get); then `human_commands`, `run_command`, `run_display` and `board`. `runner/` runs agents over the stories,
`openspec/` reads the plan. A command of an agent is a short process, so little is imported for it.
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
        gc.disable()  # nothing that it leaves behind is worth looking for
    from segue.dialects.ralph.cli import perform

    code = perform(args)
    if is_short:
        # All is on the disk, and said. To tidy up the interpreter as well would take as long again as the work did.
        os._exit(code)
    return code
