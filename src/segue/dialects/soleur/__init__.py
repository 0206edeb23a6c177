"""Soleur's dialect: the command `soleur`, over the files in `~/.soleur/sessions`.

Read `cli` (the commands), then `chat` (a conversation), `sessions` (the list), `ledger_session` and `ledger`.
"""

from __future__ import annotations

from typing import NoReturn

from segue.console.entry import enter


def main() -> NoReturn:
    """The entry point of `soleur`."""
    enter("soleur", _run)


def _run(args: list[str]) -> int:
    from segue.console.entry import perform
    from segue.dialects.soleur.cli import app
    from segue.dialects.soleur.hints import HINTS

    return perform(app, "soleur", args, hints=HINTS)
