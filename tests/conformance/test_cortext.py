from pathlib import Path

import pytest

from segue.testing import Harness
from segue.testing.conformance import Conformance
from segue.testing.harness_cortext import CortextHarness


class TestCortext(Conformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return CortextHarness(tmp_path)
