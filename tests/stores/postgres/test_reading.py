"""The end of a session, read by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import DamagedError
from segue.testing.conformance.chapter import ID, create_session
from segue.testing.events import status, turn

if TYPE_CHECKING:
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres import PostgresServer


@pytest.mark.parametrize("lost", [3, 4])
def test_a_tail_notices_that_an_event_among_its_turns_is_missing(
    lost: int, postgres_harness: PostgresHarness, postgres_server: PostgresServer
) -> None:
    store = postgres_harness.make()
    create_session(store, turn(1), status("paused", 2), turn(3), turn(4)).close()
    assert [one.content for one in store.tail(ID, 3)] == [turn(number).content for number in (1, 3, 4)]
    schema = store.tables.address.schema  # type: ignore[attr-defined]
    postgres_server.execute(f"DELETE FROM {schema}.events WHERE seq = %s", (lost,))  # noqa: S608 - our own name
    with pytest.raises(DamagedError):
        store.tail(ID, 3)
