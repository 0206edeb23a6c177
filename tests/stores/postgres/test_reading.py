"""The end of a session, read by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError
from segue.testing.conformance.chapter import ID, create_session
from segue.testing.events import status, turns

if TYPE_CHECKING:
    from segue.model import Event
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres import PostgresServer


MANY: list[Event] = [*turns(1, 60), status("paused", 61), *turns(62, 150)]
"""So many that there is a checkpoint after them, and the end alone shows no damage."""


@pytest.mark.parametrize("lost", [62, 63])
def test_a_tail_notices_that_an_event_among_its_turns_is_missing(
    lost: int, postgres_harness: PostgresHarness, postgres_server: PostgresServer
) -> None:
    store = postgres_harness.make()
    with create_session(store) as writer:
        writer.append(*MANY)
    assert [one.seq for one in store.tail(ID, 90)] == [61, *range(63, 152)]
    schema = store.tables.address.schema  # type: ignore[attr-defined]
    postgres_server.execute(f"DELETE FROM {schema}.events WHERE seq = %s", (lost,))  # noqa: S608 - our own name
    store.overview(ID)
    with pytest.raises(DamagedError):
        store.tail(ID, 90)
