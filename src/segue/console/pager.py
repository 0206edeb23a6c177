"""The pager that the user has set in PAGER, fed with printable text."""

from __future__ import annotations

import os
import shlex
import subprocess
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_USUAL = "less"
_SHOWING_COLOUR = {"less", "cat", "more"}


def shows_colour() -> bool:
    command = _command()
    return bool(command) and PurePath(command[0]).name in _SHOWING_COLOUR and "R" in os.environ.get("LESS", "FRX")


def send(content: Iterable[str]) -> bool:
    """Send text to the pager; False, with nothing consumed, if there is no pager."""
    command = _command()
    if not command:
        return False
    environment = {"LESS": "FRX", **os.environ}  # quit if it fits, let colours through, leave it on the screen
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    assert process.stdin is not None  # noqa: S101 - it was asked for
    try:
        for piece in content:
            process.stdin.write(piece.encode("utf-8", "backslashreplace"))
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # the user has quit the pager
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
    while True:
        try:
            process.wait()
        except KeyboardInterrupt:
            continue  # the pager handles Ctrl-C
        return True


def _command() -> list[str]:
    try:
        return shlex.split(os.environ.get("PAGER", _USUAL))
    except ValueError:
        return []
