from pathlib import Path

import pytest

from segue.testing import Harness
from segue.testing.conformance import Conformance
from segue.testing.harness_gptel import GptelHarness


class TestGptel(Conformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return GptelHarness(tmp_path)
