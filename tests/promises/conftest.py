"""A folder to break things in, and the seed of what is random about it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = "/dev/shm"


@pytest.fixture
def root() -> Iterator[Path]:
    """In memory where there is such a place: these proofs open thousands of journals and wear no disk."""
    with TemporaryDirectory(prefix="promises-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """That of the run, which the closing lines name."""
    chosen: int = request.config.getoption("--seed")
    return chosen
