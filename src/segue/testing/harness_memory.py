"""The harness of the memory store: nothing outlives it, so there is little to damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.stores.memory import MemoryStore
from segue.testing.harness import Harness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Event
    from segue.store import Store


class MemoryHarness(Harness):
    """See Harness. A location in memory is the store object itself: every other object is another location."""

    def make(self) -> Store:
        return MemoryStore(clock=self.clock)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        return ("segue.stores.memory:MemoryStore",)

    def snapshot(self) -> object:
        return None

    def kill(self) -> None:
        """Nothing to do: a store that is made afterwards is empty."""

    def power_cut(self) -> None:
        """Like `kill`."""

    def plant(self, store: Store, session_id: str, events: Sequence[Event]) -> None:
        store.create(session_id, events).close()
