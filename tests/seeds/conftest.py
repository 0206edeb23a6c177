from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.emacs.test_emacs import DOUBLE, Results, run
from tests.support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="session")
def emacs_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What a real Emacs did in each scenario of gptel's specification."""
    return run("segue-seed-test.el", tmp_path_factory.mktemp("emacs"), DOUBLE)


@pytest.fixture
def why_emacs_failed(request: pytest.FixtureRequest, emacs_results: Results) -> str | None:
    """Why the scenario of this test failed in Emacs; None if it did not."""
    return emacs_results[request.node.name.replace("test_", "segue-seed-", 1).replace("_", "-")]
