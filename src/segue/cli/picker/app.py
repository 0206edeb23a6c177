"""The picker as a Textual application: it shows one screen and ends with the choice of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from textual.app import App

from segue.cli.picker.screen import PickerScreen
from segue.index import IndexEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.cli.picker.model import PickerModel


class PickedSession(Struct, frozen=True):
    """What to do when the picker has closed."""

    action: Literal["resume", "chat"]
    entry: IndexEntry | None = None


class Picker(App[PickedSession | None]):
    """Returns a choice, or None. `command_of` gives the command that resumes a session."""

    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012 - Textual's own
    VERTICAL_BREAKPOINTS = [(0, "-low"), (18, "-high")]  # noqa: RUF012
    TITLE = "Segue"

    def __init__(self, model: PickerModel, *, command_of: Callable[[IndexEntry], str], text: str = "") -> None:
        super().__init__()
        self._model = model
        self._command_of = command_of
        self._text = text

    def get_default_screen(self) -> PickerScreen:
        return PickerScreen(self._model, text=self._text)

    def on_picker_screen_session_chosen(self, event: PickerScreen.SessionChosen) -> None:
        self.exit(PickedSession("resume", event.entry))

    def on_picker_screen_chat_requested(self) -> None:
        self.exit(PickedSession("chat"))

    def on_picker_screen_command_requested(self, event: PickerScreen.CommandRequested) -> None:
        command = self._command_of(event.entry)
        self.copy_to_clipboard(command)
        if isinstance(self.screen, PickerScreen):
            self.screen.show_notice(f"copied: {command}")
