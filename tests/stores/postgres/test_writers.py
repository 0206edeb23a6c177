"""The writers of one store."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.model import TitleChanged, total_usage
from segue.stores.postgres import PostgresStore
from segue.testing.conformance.chapter import ID, create_session
from segue.testing.events import moment, turn
from tests.support.postgres_proxy import LoopbackProxy, Moment

if TYPE_CHECKING:
    from segue.testing.harness_postgres import PostgresHarness
    from tests.support.postgres import PostgresServer


def test_opening_again_after_a_lost_answer_forgets_nothing_of_the_session(
    postgres_server: PostgresServer, postgres_harness: PostgresHarness
) -> None:
    store = postgres_harness.make()
    used = replace(turn(1), extra={"usage": {"input_tokens": 5, "output_tokens": 7}})
    create_session(store, used).close()
    assert total_usage([used])
    with LoopbackProxy(postgres_server) as proxy:
        distant = PostgresStore(proxy.url(postgres_harness.address.schema))
        assert distant.head(ID).turn_count == 1
        proxy.strike(Moment.BEFORE_ANSWER, containing=socket.gethostname().encode())
        with distant.open(ID, timeout_seconds=0) as writer:
            assert proxy.struck.is_set()
            writer.append(TitleChanged(id="renamed", timestamp=moment(9), title="Another title"))
        distant.close()
    assert store.examine(ID).damages == ()
