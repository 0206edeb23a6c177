import pytest

from segue.testing import Harness
from segue.testing.conformance import Conformance
from segue.testing.harness_memory import MemoryHarness


class TestMemory(Conformance):
    @pytest.fixture
    def harness(self) -> Harness:
        return MemoryHarness()
