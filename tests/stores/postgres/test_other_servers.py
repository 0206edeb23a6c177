"""The conformance suite again: on other versions of Postgres, through a pooler, and at other levels of durability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.testing.conformance import AppendChapter, Conformance, DurabilityChapter, LocksChapter, ReopeningChapter
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import PostgresServer
from tests.support.postgres_fixtures import PostgresPlaces
from tests.support.postgres_programs import find_versions
from tests.support.postgres_standby import StandbyPair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.testing import Harness


@pytest.fixture(scope="module")
def pooled(postgres_server: PostgresServer) -> Iterator[PostgresPlaces]:
    with PgBouncer(postgres_server) as pooler:
        yield PostgresPlaces(postgres_server, front=pooler)


@pytest.fixture
def pooled_harness(pooled: PostgresPlaces) -> Iterator[Harness]:
    yield pooled.take()
    pooled.give_back()


@pytest.mark.needs("pgbouncer")
class TestPooled(AppendChapter, LocksChapter):
    @pytest.fixture
    def harness(self, pooled_harness: Harness) -> Harness:
        return pooled_harness


@pytest.mark.long
@pytest.mark.needs("pgbouncer")
class TestPooledWhole(Conformance):
    @pytest.fixture
    def harness(self, pooled_harness: Harness) -> Harness:
        return pooled_harness


@pytest.fixture(scope="module", params=list(find_versions())[1:])
def older(request: pytest.FixtureRequest) -> Iterator[PostgresPlaces]:
    with PostgresServer.create(major=request.param) as server:
        yield PostgresPlaces(server)


@pytest.mark.long
class TestOlder(Conformance):
    @pytest.fixture
    def harness(self, older: PostgresPlaces) -> Iterator[Harness]:
        yield older.take()
        older.give_back()


@pytest.fixture(scope="module")
def hasty() -> Iterator[PostgresPlaces]:
    with PostgresServer.create(synchronous_commit=False) as server:
        yield PostgresPlaces(server)


@pytest.fixture(scope="module")
def replicated() -> Iterator[PostgresPlaces]:
    with StandbyPair() as pair:
        yield PostgresPlaces(pair.primary)


@pytest.mark.long
@pytest.mark.needs("postgres")
class TestWritten(DurabilityChapter, ReopeningChapter):
    @pytest.fixture
    def harness(self, hasty: PostgresPlaces) -> Iterator[Harness]:
        yield hasty.take()
        hasty.give_back()


@pytest.mark.long
@pytest.mark.needs("postgres")
class TestReplicated(DurabilityChapter, ReopeningChapter):
    @pytest.fixture
    def harness(self, replicated: PostgresPlaces) -> Iterator[Harness]:
        yield replicated.take()
        replicated.give_back()
