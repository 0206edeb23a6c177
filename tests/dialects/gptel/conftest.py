"""A store of gptel sessions, and a session in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.gptel import Keeper, say

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    return Keeper(tmp_path)


@pytest.fixture
def path(keeper: Keeper) -> Path:
    """The conversation of a session that Emacs saved."""
    made = keeper.new()
    say(made, "gptel--preset: executor")
    return made
