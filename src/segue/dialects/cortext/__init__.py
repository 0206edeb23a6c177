"""The Cortext dialect: the command `cortext` for the conversations of a workspace.

Read `cli` (the commands), then `context` (what they need), `selection` (which conversation is meant), `chat` (start,
resume and stop one), `integration` (one in an AI tool) and `conversations` (what all of them share).
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
