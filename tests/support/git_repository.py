"""A fresh repository to commit into, with the real git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from segue.git import CommitResult, Repository, find_repository

if TYPE_CHECKING:
    from pathlib import Path

OUR_FILES = ["conversations/001-plan/.session/session.json", "conversations/001-plan/plan.md"]


@dataclass
class Place:
    """A repository, where our conversation is in it, and an environment that holds nothing of the machine."""

    root: Path
    environ: dict[str, str]
    ours: Path = field(init=False)

    def __post_init__(self) -> None:
        self.ours = self.root / "conversations" / "001-plan"

    def git(self, *arguments: str, check: bool = True) -> str:
        ran = subprocess.run(
            ["git", *arguments], cwd=self.root, env=self.environ, check=check, capture_output=True, text=True
        )
        return ran.stdout

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def hook(self, name: str, script: str) -> None:
        path = self.root / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    @property
    def repository(self) -> Repository:
        found = find_repository(self.ours, environ=self.environ, trusted=True)
        assert found is not None
        return found

    def commit(self, message: str = "[session] Pause: a plan") -> CommitResult:
        return self.repository.commit([self.ours], message)

    def committed_files(self, commit: str = "HEAD") -> list[str]:
        return self.git("show", "--format=", "--name-only", "--no-renames", "-z", commit).split("\0")[:-1]

    def index(self) -> str:
        return self.git("ls-files", "--stage", "--debug", "-z") + self.git("status", "--porcelain")
