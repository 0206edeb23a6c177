"""The file with the lines that were typed, each with its session, so that it can be deleted with that session."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from segue.durable.folder import Folder
from segue.errors import SegueError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

KEPT = 1000
"""This many lines are read; at twice as many, the older half is removed."""


class _Typed(NamedTuple):
    text: str
    session: str = ""


class InputHistory:
    """A JSON text or object a line, in a file of mode 0600; texts alone are of older versions.

    What cannot be read or written costs no conversation: there is just less of it.
    """

    def __init__(self, path: Path) -> None:
        self._folder = Folder(str(path.parent.resolve()))
        self._name = path.name

    def exists(self) -> bool:
        return bool(self._lines())

    def add(self, text: str, session: str) -> None:
        line = f"{json.dumps({'text': text, 'session': session})}\n".encode()
        with suppress(SegueError, OSError):
            self._folder.make()
            descriptor = self._folder.open(self._name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                self._folder.kernel.write(descriptor, line)
            finally:
                self._folder.kernel.close(descriptor)

    def texts(self) -> Iterator[str]:
        """Newest first."""
        lines = self._lines()
        if len(lines) > 2 * KEPT:
            with suppress(SegueError, OSError):
                self._write(lines[-KEPT:])
        for line in reversed(lines[-KEPT:]):
            if (typed := _parse(line)) is not None:
                yield typed.text

    def forget(self, session: str, messages: Collection[str]) -> None:
        """Remove what was typed in a session; of lines without a session, those that are in `messages`."""
        lines = self._lines()
        remaining = [line for line in lines if not _is_of(_parse(line), session, messages)]
        if len(remaining) < len(lines):
            self._write(remaining)

    def _write(self, lines: list[bytes]) -> None:
        self._folder.replace(self._name, b"".join(line + b"\n" for line in lines))

    def _lines(self) -> list[bytes]:
        try:
            return [line for line in self._folder.read(self._name).split(b"\n") if line]
        except (SegueError, OSError):
            return []


def _parse(line: bytes) -> _Typed | None:
    """None for what was cut off by a crash, or is not ours."""
    try:
        match json.loads(line):
            case str(text):
                return _Typed(text)
            case {"text": str(text), "session": str(session)}:
                return _Typed(text, session)
    except (ValueError, RecursionError):
        pass
    return None


def _is_of(typed: _Typed | None, session: str, messages: Collection[str]) -> bool:
    if typed is None:
        return False
    return typed.session == session if typed.session else typed.text in messages or typed.text.strip() in messages
