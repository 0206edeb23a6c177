"""The gptel store against the memory store: the same operations, with crashes, give the same sessions."""

from __future__ import annotations

from pathlib import Path

from segue.testing.harness_gptel import GptelHarness
from tests.test_state_machine import Side, TwoStores


class GptelAndMemory(TwoStores):
    def __init__(self) -> None:
        super().__init__()
        self.journal = Side(GptelHarness(Path(self._folder.name)), self.now)


TestGptelAndMemory = GptelAndMemory.TestCase
