"""Conversations by the real command: with lines on its input, at a terminal, and with commands that answer."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Self

from tests.support import warm
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from tests.support.cli import Segue

BEGINNING = "The beginning of"
SLOW = f"""#!/bin/sh
cat > asked
if [ -e whole ]; then printf 'The whole answer.'; exit; fi
printf '{BEGINNING}'
exec cat held
"""


def script(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def said(cli: Segue, id: str) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in cli.library.load(id).turns]


def program(folder: Path, name: str, text: str) -> str:
    """A program in the folder, as an agent."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return f"command:./{name}"


def preset(folder: Path, name: str, prompt: str, **fields: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    front = "".join(f"{field}: {value}\n" for field, value in fields.items())
    (folder / f"{name}.md").write_text(f"---\nname: {name}\n{front}---\n{prompt}\n", encoding="utf-8")


class Slow:
    """An agent that says how its answer begins and then nothing more, until there is a file called `whole`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.agent = program(folder, "slow", SLOW)
        os.mkfifo(folder / "held")

    def be_quick(self) -> None:
        (self._folder / "whole").touch()

    def let_go(self) -> None:
        """End one that outlived whoever asked it."""
        os.close(os.open(self._folder / "held", os.O_RDWR | os.O_NONBLOCK))


class ChatProcess(PtyProcess):
    """`segue` at a terminal."""

    def __init__(self, cli: Segue, *args: str, **env: str) -> None:
        environment = cli.environment(PYTHONUTF8="1", **env)
        super().__init__([sys.executable, "-m", "segue", *args], env=environment, cwd=cli.home, rows=30, columns=120)


class Running:
    """The command with pipes, while it runs."""

    def __init__(self, cli: Segue, args: Sequence[str]) -> None:
        self.process = warm.Popen(
            [sys.executable, "-m", "segue", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=cli.environment(),
            cwd=cli.home,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def wait_for(self, text: str) -> None:
        assert self.process.stdout is not None
        seen = b""
        while text.encode() not in seen:
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, f"it ended without {text!r}: {seen!r}"
            seen += piece

    def notify(self, number: int) -> int:
        """Send a signal; the code that it ended with."""
        self.process.send_signal(number)
        return self.process.wait()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
