from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.git_repository import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    config = tmp_path / "home" / "gitconfig"
    config.parent.mkdir()
    config.write_text("[user]\nname = A\nemail = a@example.org\n[init]\ndefaultBranch = main\n", encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(config.parent), "GIT_CONFIG_GLOBAL": str(config)}
    place = Place(tmp_path / "repository", environ | {"GIT_CONFIG_NOSYSTEM": "1"})
    place.root.mkdir()
    place.git("init", "--quiet")
    place.write("notes.txt", "one\n")
    place.write("other.txt", "one\n")
    place.git("add", ".")
    place.git("commit", "--quiet", "--message=first")
    place.write("conversations/001-plan/plan.md", "# A plan\n")
    place.write("conversations/001-plan/.session/session.json", "{}\n")
    return place
