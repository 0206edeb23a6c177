"""The harness of the soleur store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from segue.dialects.soleur.format import new_document
from segue.dialects.soleur.store import SoleurStore
from segue.testing.harness_sealed import SealedHarness, spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Event


class SoleurHarness(SealedHarness):
    store_type = SoleurStore

    def encode(self, session_id: str, events: Sequence[Event]) -> bytes:
        return new_document(session_id, events).encode()

    def damage(self, session_id: str, event_id: str) -> None:
        """For a turn that is shown, in its message, where a user would edit it; else in what is under `segue`."""
        data = self.file(session_id).read_bytes()
        entries = msgspec.json.decode(data)["segue"]["events"]
        shown = [entry["id"] for entry in entries if entry["type"] == "turn" and "sum" in entry]
        if event_id not in shown:
            super().damage(session_id, event_id)
            return
        start, end = spans(data, b"messages", 4)[shown.index(event_id)]
        self.flip(self.file(session_id), (start + end) // 2)
