from pathlib import Path

import pytest

from segue.testing import Harness
from segue.testing.conformance import Conformance
from segue.testing.harness_ralph import RalphHarness


class TestRalph(Conformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return RalphHarness(tmp_path)
