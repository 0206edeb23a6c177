"""A user at a real terminal, in front of `chat_program`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import segue
from tests.support.pty import PtyProcess
from tests.support.screen import ScreenBuffer

if TYPE_CHECKING:
    from segue.model import Session

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(segue.__file__).resolve().parents[1]
ROWS, COLUMNS = 24, 120

CTRL_C, CTRL_D, CTRL_R, CTRL_Z, UP, TAB, ENTER = "\x03", "\x04", "\x12", "\x1a", "\x1b[A", "\t", "\r"
PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"

WHERE_IS_THE_CURSOR = "\x1b[6n"


class ChatTerminal(PtyProcess):
    """What is typed into the chat, and what the screen shows of it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.screen = ScreenBuffer(ROWS, COLUMNS)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        super().__init__(
            [sys.executable, "-m", "tests.support.chat_program", str(folder)],
            env={
                **kept,
                "PYTHONPATH": f"{PACKAGE}{os.pathsep}{ROOT}",
                "PYTHONWARNINGS": "error",
                "PYTHONUTF8": "1",
                "TERM": "xterm-256color",
                **environment,
            },
            cwd=Path.cwd(),
            rows=ROWS,
            columns=COLUMNS,
        )

    @property
    def session(self) -> Session:
        return segue.open(f"journal:{self.folder / 'sessions'}").load("talk")

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(turn.role, turn.content) for turn in self.session.turns]

    def wait_for(self, text: str) -> None:
        """Until the text is on the screen, or has been and scrolled off, behind what was waited for before."""
        while (found := "\n".join(self.screen.all).find(text, self._at)) < 0:
            assert self.read(), f"it ended without {text!r}: {self.screen.all}"
        self._at = found + len(text)

    def wait_for_bytes(self, text: str) -> None:
        """Until the text was written, though it may be overwritten by now."""
        while text not in self.raw:
            assert self.read(), f"it ended without {text!r}"

    def wait_for_status(self, text: str) -> None:
        """Until the text is in the last line."""
        while not self.screen.all or text not in self.screen.all[-1]:
            assert self.read(), f"it ended without {text!r}: {self.screen.all}"

    def wait_for_prompt(self) -> None:
        """Until the cursor is where one types."""
        self.wait_for_line("actor>")

    def wait_for_line(self, text: str) -> None:
        """Until this is the line that the cursor is on."""
        while self.screen.line != text:
            assert self.read(), f"it ended without {text!r}: {self.screen.all}"

    def saw(self, text: str) -> None:
        self.screen.write(text)
        for _ in range(text.count(WHERE_IS_THE_CURSOR)):
            self.type(f"\x1b[{self.screen.row + 1};{self.screen.column + 1}R")
