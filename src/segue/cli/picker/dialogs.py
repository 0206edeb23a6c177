"""Dialogs: one that asks for a line of text, and one that asks for confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

_CSS = """
TextDialog, ConfirmDialog {
    align: center middle;
    Vertical { width: 60; max-width: 90%; height: auto; padding: 0 1; border: round $primary; background: $surface; }
    Static { height: auto; }
}
"""


class TextDialog(ModalScreen[str | None]):
    """Asks for a line of text; None if the user cancels."""

    DEFAULT_CSS = _CSS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, question: str, *, value: str = "") -> None:
        super().__init__()
        self._question = question
        self._value = value

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Content(one_line(self._question)))
            yield Input(one_line(self._value), compact=True, select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())


class ConfirmDialog(ModalScreen[bool]):
    """Asks for confirmation; anything but y means no."""

    DEFAULT_CSS = _CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes"),
        Binding("n,escape,enter", "dismiss(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Content(f"{one_line(self._question)} [y/N]"))
