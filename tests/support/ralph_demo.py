"""The demo change of examples/, in a project of its own, with `ralphtool` as real processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import segue
from tests.support import warm
from tests.support.cli import Result
from tests.support.pty import PtyProcess
from tests.support.workspace import SCRIPTED

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import Session

PACKAGE = Path(segue.__file__).resolve().parent.parent
EXAMPLE = PACKAGE.parent / "examples" / "greeting"
SAFE_SECONDS = 120
RUN = ("run", "--change", "add-greeting", "--verify", "sh check.sh")
BY_SCRIPT = (*RUN, "--with", "sh agent.sh")
PATIENT = """
prompt=$(cat)
if ! test -e been-here; then
    : >been-here
    $RALPHTOOL agent learn 'Learned before the end' >/dev/null
    exec 9>ready
    echo here >&9
    read -r _ <go
fi
printf '%s' "$prompt" | sh agent.sh
"""
"""The agent of the demo, but the first time it learns something and then waits to be told to go on."""


class Demo:
    def __init__(self, root: Path) -> None:
        self.root = root / "demo"
        self.temporary = root / "tmp"
        self.home = root / "home"
        shutil.copytree(EXAMPLE, self.root)
        self.temporary.mkdir()
        self.home.mkdir()
        self.programs = root / "bin"
        self.programs.mkdir()

    @property
    def change(self) -> Path:
        return self.root / "openspec" / "changes" / "add-greeting"

    @property
    def tasks(self) -> str:
        return (self.change / "tasks.md").read_text(encoding="utf-8")

    @property
    def learned(self) -> str:
        return (self.change / "design.md").read_text(encoding="utf-8")

    @property
    def library(self) -> Library:
        return segue.open(f"journal:{self.home}/sessions")

    def saved(self) -> Session:
        """The one that there is."""
        (head,) = self.library.list()
        return self.library.load(head.id)

    @property
    def files(self) -> list[str]:
        """Of sessions in the temporary folder."""
        return sorted(path.stem for path in (self.temporary / "ralph" / "sessions").glob("*.json"))

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(PACKAGE),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "SEGUE_STORE": f"journal:{self.home}/sessions",
            "PYTHONUTF8": "1",
            "GIT_CONFIG_GLOBAL": str(self.home / ".gitconfig"),
            **more,
        }

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return warm.Popen(
            [sys.executable, "-m", "segue.dialects.ralph", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.root,
            env=self.environment(),
        )

    def run(self, *words: str, code: int = 0) -> Result:
        """It must end with the code."""
        return ended(self.start(*words), code)

    def at_terminal(self, *words: str) -> PtyProcess:
        argv = [sys.executable, "-m", "segue.dialects.ralph", *words]
        return PtyProcess(argv, env=self.environment(TERM="xterm-256color"), cwd=self.root)

    def wait_for_agent(self) -> None:
        """Until the patient agent has learned something and waits."""
        with (self.root / "ready").open(encoding="utf-8") as ready:
            assert ready.readline() == "here\n"

    def let_go(self) -> None:
        (self.root / "go").write_text("on\n", encoding="utf-8")

    def patient(self, first: str = "") -> tuple[str, ...]:
        """The words of a run whose agent does something first, the first time, and then waits."""
        (self.root / "patient.sh").write_text(f"{first}\n{PATIENT}" if first else PATIENT, encoding="utf-8")
        for name in ("ready", "go"):
            os.mkfifo(self.root / name)
        return (*RUN, "--with", "sh patient.sh")

    def install_tool(self) -> None:
        """A `claude` that does what the tool does, and the first time waits when it has."""
        tool = self.programs / "claude"
        waits = "if ! test -e been-here; then : >been-here; exec 9>ready; echo here >&9; read -r _ <go; fi"
        tool.write_text(f'#!/bin/sh\n"{sys.executable}" "{SCRIPTED}" "$@"\n{waits}\n', encoding="utf-8")
        tool.chmod(0o755)


def ended(process: subprocess.Popen[bytes], code: int) -> Result:
    out, err = process.communicate(timeout=SAFE_SECONDS)
    result = Result(code=process.returncode, out=out, err=err)
    assert result.code == code, result
    return result
