from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.ralph_demo import Demo
from tests.support.ralph_project import Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    return Demo(tmp_path)


@pytest.fixture
def git(demo: Demo) -> Callable[..., str]:
    """git in the demo, which is a repository with one commit."""

    def call(*words: str) -> str:
        command = ["git", *words]
        return subprocess.run(
            command, cwd=demo.root, env=demo.environment(), check=True, capture_output=True, text=True
        ).stdout

    (demo.home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
    call("init", "--quiet")
    call("add", "--all")
    call("commit", "--quiet", "--message", "The plan")
    return call
