"""A process that ends at each call of a short life, one world for each end."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from segue.testing.conformance.chapter import ID, event_ids
from segue.testing.power import KilledError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segue.store import Store
    from segue.testing.harness_file_store import FileStoreHarness

MORE_CALLS_THAN_NEEDED = 400
H = TypeVar("H", bound="FileStoreHarness")


def crash_points(
    kind: Callable[[Path], H], place: Path, before: Callable[[H], object], life: Callable[[Store, list[str]], None]
) -> Iterator[tuple[H, list[str]]]:
    """One world for each call at which that life can end, as it is when it has, and what was acknowledged in it."""
    for call in range(1, MORE_CALLS_THAN_NEEDED):
        folder = place / str(call)
        folder.mkdir(parents=True)
        harness, told = kind(folder), list[str]()
        before(harness)
        harness.kernel.die_at(harness.kernel.calls + call)
        try:
            life(harness.make(), told)
        except KilledError:
            yield harness, told
        else:
            assert call > 10
            return
    raise AssertionError("it makes more calls than that")


def found(store: Store) -> list[str]:
    return event_ids(store) if ID in set(store.ids()) else []


def recover(store: Store, told: list[str]) -> None:
    if store.examine(ID).damages:
        store.recover(ID)
    told.append("recovered")
