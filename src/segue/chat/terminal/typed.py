"""What a person typed before, for the arrow keys and for Ctrl-R: a JSON text a line, for nobody else's eyes."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.history import History

from segue.durable.folder import Folder
from segue.errors import SegueError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

KEPT = 1000
"""As many are read; at twice as many the older half goes."""


class TypedLines(History):
    """In a file of mode 0600. One that cannot be read or written costs no conversation: there is just less of it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._folder = Folder(str(path.parent.resolve()))
        self._name = path.name

    def load_history_strings(self) -> Iterable[str]:
        """Newest first, as prompt_toolkit wants them."""
        lines = self._lines()
        if len(lines) > 2 * KEPT:
            with suppress(SegueError, OSError):
                self._folder.replace(self._name, b"".join(line + b"\n" for line in lines[-KEPT:]))
        for line in reversed(lines[-KEPT:]):
            try:
                text = json.loads(line)
            except ValueError:
                continue  # cut off by a crash, or not ours
            if isinstance(text, str):
                yield text

    def store_string(self, string: str) -> None:
        line = f"{json.dumps(string)}\n".encode()
        with suppress(SegueError, OSError):
            self._folder.make()
            descriptor = self._folder.open(self._name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                self._folder.kernel.write(descriptor, line)
            finally:
                self._folder.kernel.close(descriptor)

    def _lines(self) -> list[bytes]:
        try:
            return [line for line in self._folder.read(self._name).split(b"\n") if line]
        except (SegueError, OSError):
            return []
