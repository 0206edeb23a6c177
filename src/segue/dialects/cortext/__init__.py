"""Cortext's dialect: the command `cortext`, over the conversations of a workspace.

Read `app` (the commands), then `desk` (all that they need), `choice` (which conversation is meant), `going` (in and
out), `talk` (a conversation in the built-in chat) and `launch` (one in an AI tool).
"""

from __future__ import annotations

from typing import NoReturn

from segue.console.entry import enter


def main() -> NoReturn:
    """The entry point of the command."""
    enter("cortext", _run)


def _run(args: list[str]) -> int:
    from segue.console.entry import perform
    from segue.dialects.cortext.cli import app
    from segue.dialects.cortext.hints import HINTS

    return perform(app, "cortext", args, hints=HINTS)
