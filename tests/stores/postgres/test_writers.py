"""The writers of one store, and the leases that it renews for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.stores.postgres import PostgresStore
from segue.testing.conformance.chapter import ID, create_session
from segue.testing.events import turn

if TYPE_CHECKING:
    from segue.testing.harness_postgres import PostgresHarness


def test_a_writer_that_lost_its_session_does_not_end_the_lease_of_the_next(postgres_harness: PostgresHarness) -> None:
    store = postgres_harness.make()
    assert isinstance(store, PostgresStore)
    lost = create_session(store, turn(1))
    postgres_harness.kill()
    with store.open(ID, timeout_seconds=0) as writer:
        lost.close()
        postgres_harness.expire_leases()
        assert store.owner(ID) is None
        store._writers._renew()
        assert store.owner(ID) is not None
        assert writer.append(turn(2)).seqs == (3,)
