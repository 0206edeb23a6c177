from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Segue

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cli(tmp_path: Path) -> Segue:
    return Segue(tmp_path)


@pytest.fixture
def session(cli: Segue) -> str:
    """The id of a session with two turns."""
    with cli.library.create(agent="qa", title="Login bug", tags=["web"], id="login") as live:
        live.add("user", "Why does login fail?")
        live.add("assistant", "The token expires.", tokens=7)
    return "login"
