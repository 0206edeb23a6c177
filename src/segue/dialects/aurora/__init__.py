"""Aurora's dialect: the command `aur spawn`, over the journals in `~/.aurora/spawn/sessions`.

Read `cli` (the command), then `chat` (a conversation), `sessions` (listing, deleting, cleaning), `expiry` and `config`.
"""

from __future__ import annotations

from typing import NoReturn

from segue.console.entry import enter


def main() -> NoReturn:
    """The entry point of `aur`."""
    enter("aur", _run)


def _run(args: list[str]) -> int:
    from segue.console.entry import perform
    from segue.dialects.aurora.cli import app
    from segue.dialects.aurora.hints import HINTS

    return perform(app, "aur", args, hints=HINTS)
