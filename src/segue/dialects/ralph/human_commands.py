"""What people call: a board, and the orchestrator. Errors are words, and end with the codes of the other commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.console import exit_codes, output
from segue.console.error_messages import PLAIN_HINTS
from segue.dialects.ralph.arguments import read

if TYPE_CHECKING:
    from collections.abc import Sequence


def serve(args: Sequence[str]) -> int:
    """Give the code to end with; no exception escapes."""
    try:
        output.prepare("ralphtool")
        if not args:
            from segue.dialects.ralph.board import show

            return show()
        said = read(list(args))
        from segue.dialects.ralph.run_command import run

        return run(said.options)
    except BaseException as error:  # noqa: BLE001 - the last stop of every error
        return exit_codes.report(error, as_json=False, hints=PLAIN_HINTS)
