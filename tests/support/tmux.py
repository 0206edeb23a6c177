"""A terminal in tmux, for programs that draw a whole screen."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

_STEPS, _STEP_SECONDS, _STEPS_OF_A_TRY = 1800, 0.1, 60
"""How often the screen is looked at before a text is missed: programs cannot be asked whether they have drawn it.
Some take a minute and a half to draw a session while others use the processor."""
_SCRIPT = '"$@"; printf "\\n[ended with %d]" "$?"; exec sleep infinity'
_ENDED = re.compile(r"\[ended with (\d+)\]")


class TmuxTerminal:
    def __init__(self, folder: Path, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self._socket = str(folder / f"tmux-{os.urandom(4).hex()}")
        variables = [f"{name}={value}" for name, value in env.items()]
        command = ["env", "-i", *variables, "TERM=xterm-256color", "LANG=C.UTF-8", "sh", "-c", _SCRIPT, "sh", *argv]
        size = ["-x", "120", "-y", "50"]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), *command)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server", check=False)

    @property
    def screen(self) -> str:
        """What is on the screen, and what has scrolled off it."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-2000")

    def wait_for(self, *texts: str) -> str:
        """Wait until all of the texts are there, whatever is between their words; returns the screen."""
        shown = ""
        for _ in range(_STEPS):
            shown = self.screen
            words = " ".join(shown.split())
            if all(text in words for text in texts):
                return shown
            if _ENDED.search(shown):
                break
            time.sleep(_STEP_SECONDS)
        raise AssertionError(f"{texts} did not appear:\n{shown}")

    def wait_for_absence(self, *texts: str) -> None:
        """Wait until none of the texts is there any more."""
        for _ in range(_STEPS):
            words = " ".join(self.screen.split())
            if not any(text in words for text in texts):
                return
            time.sleep(_STEP_SECONDS)
        raise AssertionError(f"{texts} did not disappear:\n{self.screen}")

    def type(self, text: str) -> None:
        """Type a text until it is shown: a program that is still starting loses what is typed.

        One that is only slow gets the text once: the line is cleared before the text is typed again.
        """
        before = self._count(text)
        for step in range(_STEPS):
            if step % _STEPS_OF_A_TRY == 0:
                if step:
                    self.press("C-u")
                self._tmux("send-keys", "-l", text)
            if self._count(text) > before:
                return
            time.sleep(_STEP_SECONDS)
        raise AssertionError(f"{text!r} cannot be typed:\n{self.screen}")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def leave(self, *keys: str) -> int:
        """Press the keys until the program has ended, or only wait for that; its exit code."""
        for step in range(_STEPS):
            if ended := _ENDED.search(self.screen):
                return int(ended[1])
            if keys and step % _STEPS_OF_A_TRY == 0:
                self.press(*keys)
            time.sleep(_STEP_SECONDS)
        raise AssertionError(f"it did not end:\n{self.screen}")

    def _count(self, text: str) -> int:
        return " ".join(self.screen.split()).count(text)

    def _tmux(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *words], check=False, capture_output=True, text=True)
        assert done.returncode == 0 or not check, done
        return done.stdout
