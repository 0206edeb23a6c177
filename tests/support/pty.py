"""A command that runs at a terminal of its own."""

from __future__ import annotations

import codecs
import os
import pty
import re
import termios
from typing import TYPE_CHECKING, Self

from tests.support import warm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\x1b\][^\x07]*\x07|[\r\x07\x08\x0f]")
"""What moves the cursor, colours, or rings."""


class PtyProcess:
    """Types, and reads until a text is shown. Ctrl-C reaches the command, as from a shell."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, rows: int = 24, columns: int = 100
    ) -> None:
        self.raw = ""
        self._at = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._screen, keyboard = pty.openpty()
        termios.tcsetwinsize(keyboard, (rows, columns))
        self.process = warm.Popen(
            argv,
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
            env=dict(env),
            cwd=cwd,
            takes_terminal=True,
        )
        os.close(keyboard)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        if self._screen >= 0:
            os.close(self._screen)

    @property
    def seen(self) -> str:
        """Everything so far, without what moves the cursor or colours."""
        return CONTROL.sub("", self.raw)

    def wait_for(self, text: str) -> None:
        """Read until the text is shown, after the text of the previous call."""
        while (found := self.seen.find(text, self._at)) < 0:
            assert self.read(), f"it ended without {text!r}: {self.seen!r}"
        self._at = found + len(text)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def enter(self, line: str) -> None:
        self.type(f"{line}\r")

    def hang_up(self) -> int:
        """Close the terminal, as when its window is closed; the code that it ended with."""
        os.close(self._screen)
        self._screen = -1
        return self.process.wait()

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self.read():
            pass
        return self.process.wait()

    def read(self) -> bool:
        """Take what has come, or wait for it; False when nothing more will."""
        try:
            piece = os.read(self._screen, 65536)
        except OSError:  # how Linux reports that the other end is closed
            return False
        text = self._decoder.decode(piece)
        self.raw += text
        self.saw(text)
        return bool(piece)

    def saw(self, text: str) -> None:
        """For subclasses that follow the output."""
