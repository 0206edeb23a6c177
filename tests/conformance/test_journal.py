from pathlib import Path

import pytest

from segue.store import Durability
from segue.testing.conformance import Conformance, DurabilityChapter, ErrorsChapter, ReopeningChapter
from segue.testing.harness_journal import JournalHarness


class TestJournal(Conformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> JournalHarness:
        return JournalHarness(tmp_path)


class TestJournalWithoutSync(DurabilityChapter, ErrorsChapter, ReopeningChapter):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> JournalHarness:
        return JournalHarness(tmp_path, durability=Durability.WRITTEN)
