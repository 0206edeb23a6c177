from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.integration_machine import Machine
from tests.support.loopback.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as found:
        yield found


@pytest.fixture
def machine(tmp_path: Path, model: Model, request: pytest.FixtureRequest) -> Machine:
    """For the tool that the file is named after: `test_real_<tool>.py`."""
    name = request.path.stem.removeprefix("test_real_")
    return Machine(tmp_path, request.config.getoption("--real-tools"), model, name)
