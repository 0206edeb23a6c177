"""The harness of the ralph store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.format import new_document
from segue.dialects.ralph.store import RalphStore
from segue.testing.harness_sealed import SealedHarness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Event


class RalphHarness(SealedHarness):
    store_type = RalphStore

    def encode(self, session_id: str, events: Sequence[Event]) -> bytes:  # noqa: ARG002 - the metadata names it
        return new_document(events).encode()
