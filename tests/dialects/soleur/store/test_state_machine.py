"""The soleur store against the memory store: the same operations, with crashes, give the same sessions."""

from __future__ import annotations

from pathlib import Path

from segue.testing.harness_soleur import SoleurHarness
from tests.test_state_machine import Side, TwoStores


class SoleurAndMemory(TwoStores):
    def __init__(self) -> None:
        super().__init__()
        self.journal = Side(SoleurHarness(Path(self._folder.name)), self.now)


TestSoleurAndMemory = SoleurAndMemory.TestCase
