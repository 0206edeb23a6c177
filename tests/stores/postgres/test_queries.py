"""Sessions in Postgres are listed and searched inside the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from psycopg import sql

from segue.stores.postgres.store import PostgresStore
from segue.testing.conformance import QueriesChapter
from segue.testing.harness_memory import MemoryHarness

if TYPE_CHECKING:
    from segue.testing.harness import Harness
    from tests.support.postgres import PostgresServer


class _Harness(MemoryHarness):
    """As much of a harness as the chapter needs."""

    def __init__(self, server: PostgresServer, schema: str) -> None:
        super().__init__()
        self._server = server
        self._schema = schema

    def make(self) -> PostgresStore:
        return PostgresStore(self._server.url(self._schema).partition(":")[2])

    def kill(self) -> None:
        with self._server.connect() as connection:
            statement = sql.SQL("UPDATE {}.sessions SET lease_until = clock_timestamp()")
            connection.execute(statement.format(sql.Identifier(self._schema)))


class TestQueries(QueriesChapter):
    @pytest.fixture
    def harness(self, postgres_server: PostgresServer, postgres_schema: str) -> Harness:
        return _Harness(postgres_server, postgres_schema)
