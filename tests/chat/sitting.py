"""A person at a real terminal, in front of `door.py`."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Self

import segue
from tests.chat.glass import Glass

if TYPE_CHECKING:
    from types import TracebackType

    from segue.model import Session

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(segue.__file__).resolve().parents[1]
ROWS, COLUMNS = 24, 120

CTRL_C, CTRL_D, CTRL_R, UP, TAB, ENTER = "\x03", "\x04", "\x12", "\x1b[A", "\t", "\r"
PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"

WHERE_IS_THE_CURSOR = b"\x1b[6n"


class Sitting:
    """The process, what is typed into it, and what was seen of it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.raw = ""
        self.glass = Glass(ROWS, COLUMNS)
        self._at = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._screen, keyboard = pty.openpty()
        fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("door.py")), str(folder)],
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
            env={
                **kept,
                "PYTHONPATH": f"{PACKAGE}{os.pathsep}{ROOT}",
                "PYTHONWARNINGS": "error",
                "PYTHONUTF8": "1",
                "TERM": "xterm-256color",
                **environment,
            },
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - so that Ctrl-C reaches it, as from a shell
        )
        os.close(keyboard)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._screen)

    @property
    def session(self) -> Session:
        return segue.open(f"journal:{self.folder / 'sessions'}").load("talk")

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(turn.role, turn.content) for turn in self.session.turns]

    def wait_for(self, text: str) -> None:
        """Until the text is on the screen, or has been and scrolled off, behind what was waited for before."""
        while (found := "\n".join(self.glass.all).find(text, self._at)) < 0:
            assert self._read(), f"it ended without {text!r}: {self.glass.all}"
        self._at = found + len(text)

    def wait_for_bytes(self, text: str) -> None:
        """Until the text was written, though it may be overwritten by now."""
        while text not in self.raw:
            assert self._read(), f"it ended without {text!r}"

    def wait_for_status(self, text: str) -> None:
        """Until the text is in the last line."""
        while not self.glass.all or text not in self.glass.all[-1]:
            assert self._read(), f"it ended without {text!r}: {self.glass.all}"

    def wait_for_prompt(self) -> None:
        """Until the cursor is where one types."""
        self.wait_for_line("actor>")

    def wait_for_line(self, text: str) -> None:
        """Until this is the line that the cursor is on."""
        while self.glass.line != text:
            assert self._read(), f"it ended without {text!r}: {self.glass.all}"

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self.process.wait()

    def _read(self) -> bool:
        try:
            piece = os.read(self._screen, 65536)
        except OSError:  # how Linux says that nobody is at the other end any more
            return False
        text = self._decoder.decode(piece)
        self.raw += text
        self.glass.write(text)
        for _ in range(piece.count(WHERE_IS_THE_CURSOR)):
            self.type(f"\x1b[{self.glass.row + 1};{self.glass.column + 1}R")
        return bool(piece)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
