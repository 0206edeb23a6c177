from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.tool_project import Workshop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    found = Workshop(tmp_path)
    yield found
    found.session.close()
