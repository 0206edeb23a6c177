from pathlib import Path

import pytest

from segue.testing import Harness
from segue.testing.conformance import Conformance
from segue.testing.harness_soleur import SoleurHarness


class TestSoleur(Conformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Harness:
        return SoleurHarness(tmp_path)
