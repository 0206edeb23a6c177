"""What a person typed before, for the arrow keys and for Ctrl-R."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.history import History

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.chat.terminal.input_history import InputHistory


class PromptHistory(History):
    """Over a file that remembers in which session each was typed."""

    def __init__(self, file: InputHistory) -> None:
        super().__init__()
        self._file = file
        self.session = ""
        """The session at hand."""

    def load_history_strings(self) -> Iterable[str]:
        """Newest first, as prompt_toolkit wants them."""
        return self._file.texts()

    def store_string(self, string: str) -> None:
        self._file.add(string, self.session)
