"""A machine with a workspace on it, a git of its own, and an AI tool that is a script."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import segue
from tests.support.machine import Machine

if TYPE_CHECKING:
    from segue.library import Library

SCRIPTED = Path(__file__).with_name("scripted_tool.py")


class Office(Machine):
    """The project is the workspace."""

    def __init__(self, root: Path, *, git: bool = True) -> None:
        super().__init__(root)
        found = shutil.which("git")
        assert found is not None, "git is needed here"
        (self._programs / "git").symlink_to(found)
        (self.home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
        self.run("cortext init" + ("" if git else " --no-git"))

    @property
    def conversations(self) -> Path:
        return self.project / "conversations"

    @property
    def library(self) -> Library:
        return segue.open(f"cortext:{self.project}")

    def folder(self, name: str = "*") -> Path:
        """Of the one conversation that is called so."""
        (found,) = self.conversations.glob(f"*/{name}")
        return found

    def session(self, name: str = "*") -> dict[str, object]:
        found: dict[str, object] = json.loads((self.folder(name) / ".session" / "session.json").read_bytes())
        return found

    def messages(self, name: str = "*") -> list[dict[str, object]]:
        lines = (self.folder(name) / ".session" / "messages.jsonl").read_bytes().split(b"\n")
        return [json.loads(line) for line in lines if line]

    def said(self, name: str = "*") -> list[str]:
        return [str(message["content"]) for message in self.messages(name)]

    def document(self, name: str = "*") -> Path:
        (found,) = self.folder(name).glob("*.md")
        return found

    def json(self, command: str, *typed: str, code: int = 0) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.run(f"{command} --json", *typed, code=code).out)
        return found

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.project, env=self.environment(), check=True, capture_output=True, text=True
        )
        return done.stdout.removesuffix("\n")

    @property
    def log(self) -> list[str]:
        """The subjects of all commits, the oldest first."""
        return self.git("log", "--reverse", "--format=%s").split("\n")

    def committed(self, commit: str = "HEAD") -> list[str]:
        """The files of a commit, as one finds them in their conversation."""
        names = self.git("show", "--format=", "--name-only", commit).split("\n")
        return sorted(name.split("/", 3)[3] for name in names)

    def install_tool(self, name: str = "claude") -> None:
        """A program of this name that does what the tool does: takes up its session, answers, writes its transcript."""
        self._program(name, f'exec "{sys.executable}" "{SCRIPTED}" "$@"')
