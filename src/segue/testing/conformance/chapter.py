"""What every chapter begins with: a fresh store, and short words for what is done with it again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.testing.events import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import Event
    from segue.store import Store, Writer
    from segue.testing.harness import Harness

ID = "qa-test-1"


class Chapter:
    """The fixture `harness` comes from the class that tests a store."""

    @pytest.fixture
    def store(self, harness: Harness) -> Iterator[Store]:
        store = harness.make()
        yield store
        store.close()


def create_session(store: Store, *events: Event, session_id: str = ID) -> Writer:
    return store.create(session_id, [metadata(session_id), *events])


def create_and_close(store: Store, *events: Event, session_id: str = ID) -> None:
    """A session that was made and left."""
    create_session(store, *events, session_id=session_id).close()


def event_ids(store: Store, session_id: str = ID) -> list[str]:
    """The ids of what is recorded, without the metadata."""
    return [event.id for event in store.read(session_id)][1:]
