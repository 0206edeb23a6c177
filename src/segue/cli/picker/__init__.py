"""The picker: all sessions on one screen, filtered while the user types, and the keys that act on the selected one.

Read `model` (finding and changing sessions, without a screen), then `screen`, `rendering` and `dialogs`. This module
opens it for `segue`, `segue list --pick` and `segue search --pick`; nothing heavy is imported before that.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.exit_codes import Exit
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.cli._sources import Sources
    from segue.queries import Filters


def can_pick() -> bool:
    return output.stdout_is_tty() and output.stdin_is_tty() and output.has_cursor_control()


def pick(sources: Sources, filters: Filters, text: str = "") -> int:
    """Let the user choose a session, and resume it as `segue resume` does."""
    if not can_pick():
        raise UsageError("the picker needs a terminal", hint="omit --pick, or use --json")
    from segue.cli.app import invoke
    from segue.cli.picker.app import Picker
    from segue.cli.picker.model import PickerModel
    from segue.console.paths import machine_trust
    from segue.user_folders import cache_folder

    model = PickerModel(
        cache_folder(), sources.sources, sources.libraries, filters=filters, links=machine_trust().links
    )
    try:
        choice = Picker(
            model, command_of=lambda entry: shlex.join(["segue", *sources.arguments("resume", entry)]), text=text
        ).run()
    finally:
        model.close()
    if choice is None:
        return Exit.DONE
    return invoke(["chat"] if choice.entry is None else sources.arguments("resume", choice.entry))
