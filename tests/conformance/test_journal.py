from pathlib import Path

import pytest

from segue.store import Durability
from segue.testing import Harness
from segue.testing.conformance import Conformance
from segue.testing.harness_journal import JournalHarness


@pytest.mark.parametrize("durability", [Durability.SYNCED, Durability.WRITTEN], ids=["synced", "written"])
class TestJournal(Conformance):
    @pytest.fixture
    def harness(self, tmp_path: Path, durability: Durability) -> Harness:
        return JournalHarness(tmp_path, durability=durability)
