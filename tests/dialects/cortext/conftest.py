from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.workspace import Office

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)
