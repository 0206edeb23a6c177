"""What is typed before anybody asked. It never answers a question: it waits for the line that one types on."""

from __future__ import annotations

import os
import termios
from typing import TYPE_CHECKING

from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPress

_LOCAL, _CONTROL = 3, 6  # where termios keeps these
_CHUNK_BYTES = 4096


class Typeahead:
    """Of one terminal. Keys are taken out of the way before a question, and given back to the next prompt."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._keys: list[KeyPress] = []

    def take(self) -> None:
        """From here on nothing is left that was typed before: not in the terminal, and not in our own buffers."""
        self._keys += get_typeahead(get_app_session().input)
        parser = Vt100Parser(self._keys.append)
        parser.feed(_drain(self._descriptor).decode("utf-8", "replace"))
        parser.flush()

    def give_back(self) -> None:
        if self._keys:
            keys, self._keys = self._keys, []
            store_typeahead(get_app_session().input, get_typeahead(get_app_session().input) + keys)


def _drain(descriptor: int) -> bytes:
    """All that waits in the terminal, also of a line that is not ended yet."""
    before = termios.tcgetattr(descriptor)
    at_once = [*before]
    at_once[_LOCAL] &= ~termios.ICANON
    at_once[_CONTROL] = [*before[_CONTROL]]
    at_once[_CONTROL][termios.VMIN] = at_once[_CONTROL][termios.VTIME] = 0
    termios.tcsetattr(descriptor, termios.TCSANOW, at_once)
    found = b""
    try:
        while piece := os.read(descriptor, _CHUNK_BYTES):
            found += piece
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
    termios.tcflush(descriptor, termios.TCIFLUSH)
    return found.replace(b"\n", b"\r")  # as Enter comes where nothing turns it into a line feed
