"""The picker, opened by `segue` alone, `segue list --pick` and `segue search --pick`, and what follows a choice."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.exit_codes import Exit
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.cli._finding import Sources
    from segue.index import Filters


def pick(places: Sources, filters: Filters, words: str = "") -> int:
    """Let a person choose a session, and go on with it as `segue resume` does."""
    if not can_pick():
        raise UsageError("the picker needs a terminal", hint="leave --pick out, or say --json")
    from segue.cli.app import invoke
    from segue.cli.picker import Picker, PickerModel
    from segue.user_folders import cache_folder

    desk = PickerModel(cache_folder(), places.sources, places.libraries, filters=filters)
    try:
        choice = Picker(
            desk, command_of=lambda entry: shlex.join(["segue", *places.words("resume", entry)]), words=words
        ).run()
    finally:
        desk.close()
    if choice is None:
        return Exit.DONE
    return invoke(["chat"] if choice.entry is None else places.words("resume", choice.entry))


def can_pick() -> bool:
    return output.stdout_is_tty() and output.stdin_is_tty() and output.can_move()
