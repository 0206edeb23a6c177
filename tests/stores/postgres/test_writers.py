"""The writers of one store."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import WriterStoppedError
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


def test_a_writer_notices_that_the_server_has_lost_what_it_acknowledged(
    postgres_server: PostgresServer, postgres_harness: PostgresHarness
) -> None:
    """As after a failover to a standby that was behind: it has the rows of an earlier moment."""

    def run(statement: str) -> None:
        postgres_server.execute(statement.replace("{s}", postgres_harness.address.schema))

    store = postgres_harness.make()
    with create_session(store) as writer:
        writer.append(turn(1))
        writer.append(turn(2), turn(3))
        run("DELETE FROM {s}.events WHERE seq > 2")
        run("UPDATE {s}.sessions SET seq = 2, fence = fence - 1")
        with pytest.raises(WriterStoppedError, match="has lost the last 2 events of session"):
            writer.put_blob(b"an image")
        with pytest.raises(WriterStoppedError, match="has lost the last 2 events of session"):
            writer.append(turn(4))
        with pytest.raises(WriterStoppedError):
            writer.append(turn(5))
    with store.open(ID) as writer:
        assert writer.append(turn(2), turn(3), turn(4)).seqs == (3, 4, 5)
