"""What every chapter shares: the store under test, and helpers to create and read sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.testing.events import metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.model import Event
    from segue.store import Store, Writer
    from segue.testing.harness import Harness

ID = "qa-test-1"


class Chapter:
    """A part of the contract. The class that tests a store provides the fixture `harness`."""

    @pytest.fixture
    def store(self, harness: Harness) -> Iterator[Store]:
        store = harness.make()
        yield store
        store.close()


def raises(error: type[Exception], call: Callable[[], object]) -> bool:
    """Whether the call raises this error: for tests that try many cases and then name all that were let through."""
    try:
        call()
    except error:
        return True
    return False


def create_session(store: Store, *events: Event, session_id: str = ID) -> Writer:
    return store.create(session_id, [metadata(session_id), *events])


def create_and_close(store: Store, *events: Event, session_id: str = ID) -> None:
    """Create a session and close its writer."""
    create_session(store, *events, session_id=session_id).close()


def event_ids(store: Store, session_id: str = ID) -> list[str]:
    """The ids of the recorded events, without the metadata."""
    return [event.id for event in store.read(session_id)][1:]
