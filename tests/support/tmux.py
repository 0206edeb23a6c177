"""A terminal in tmux, for programs that draw a whole screen."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

_STEPS, _STEP_SECONDS = 600, 0.1
"""How often the screen is looked at before a text is missed: programs cannot be asked whether they have drawn it."""


class TmuxTerminal:
    def __init__(self, folder: Path, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self._socket = str(folder / f"tmux-{os.urandom(4).hex()}")
        variables = [f"{name}={value}" for name, value in env.items()]
        command = ["env", "-i", *variables, "TERM=xterm-256color", "LANG=C.UTF-8", *argv]
        size = ["-x", "120", "-y", "50"]
        stays = ["set", "-g", "remain-on-exit", "on"]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), *command, ";", *stays)

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
            time.sleep(_STEP_SECONDS)
        raise AssertionError(f"{texts} did not appear:\n{shown}")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def wait_for_end(self) -> int:
        """Wait until the program has ended; its exit code."""
        for _ in range(_STEPS):
            state = self._tmux("display-message", "-p", "#{pane_dead} #{pane_dead_status}").split()
            if state[0] == "1":
                return int(state[1]) if len(state) > 1 else -1
            time.sleep(_STEP_SECONDS)
        raise AssertionError(f"it did not end:\n{self.screen}")

    def _tmux(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *words], check=False, capture_output=True, text=True)
        assert done.returncode == 0 or not check, done
        return done.stdout
