"""The picker as a program: it opens the one screen, and ends with what was chosen there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from textual.app import App

from segue.cli.picker.screen import PickerScreen
from segue.index import IndexEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.cli.picker.picker_model import PickerModel


class PickedSession(Struct, frozen=True):
    """What to do when the picker has closed."""

    action: Literal["resume", "chat"]
    entry: IndexEntry | None = None


class Picker(App[PickedSession | None]):
    """Gives back a choice, or None. `command_of` is what one types to come back to a session."""

    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012 - Textual's own
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]  # noqa: RUF012
    TITLE = "Segue"

    def __init__(self, desk: PickerModel, *, command_of: Callable[[IndexEntry], str], words: str = "") -> None:
        super().__init__()
        self._desk = desk
        self._command_of = command_of
        self._words = words

    def get_default_screen(self) -> PickerScreen:
        return PickerScreen(self._desk, words=self._words)

    def on_finding_chosen(self, event: PickerScreen.Chosen) -> None:
        self.exit(PickedSession("resume", event.entry))

    def on_finding_begun(self) -> None:
        self.exit(PickedSession("chat"))

    def on_finding_copied(self, event: PickerScreen.Copied) -> None:
        command = self._command_of(event.entry)
        self.copy_to_clipboard(command)
        self.notify(command, title="Copied", markup=False)
