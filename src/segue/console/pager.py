"""The pager that the user has set in PAGER, fed with printable text."""

from __future__ import annotations

import os
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING

from segue import process

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_USUAL = "less"
_SHOWING_COLOUR = {"less", "cat", "more"}


def shows_colour() -> bool:
    """Whether colours reach the terminal: the pager lets them through, or there is none."""
    command = _command()
    return not command or (PurePath(command[0]).name in _SHOWING_COLOUR and "R" in os.environ.get("LESS", "FRX"))


def send(content: Iterable[str]) -> bool:
    """Send text to the pager; False, with nothing consumed, if there is no pager."""
    command = _command()
    if not command:
        return False
    environ = {"LESS": "FRX", **os.environ}  # quit if it fits, let colours through, leave it on the screen
    has_started = False

    def encoded() -> Iterator[bytes]:
        nonlocal has_started
        has_started = True
        for text in content:
            yield text.encode("utf-8", "backslashreplace")

    try:
        process.run_in_terminal(command, environ=environ, stdin=encoded())
    except OSError:
        if has_started:
            raise
    return has_started


def _command() -> list[str]:
    try:
        return shlex.split(os.environ.get("PAGER", _USUAL))
    except ValueError:
        return []
