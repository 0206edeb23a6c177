from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.tool_project import ToolProject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ToolProject]:
    with ToolProject(tmp_path) as found:
        yield found
