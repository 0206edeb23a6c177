import pytest

from segue.testing import Harness
from segue.testing.conformance import Conformance, IdentityChapter
from segue.testing.harness_postgres import PostgresHarness


class TestPostgres(Conformance):
    @pytest.fixture
    def harness(self, postgres_harness: PostgresHarness) -> Harness:
        return postgres_harness


class TestPostgresWithoutTables(IdentityChapter):
    @pytest.fixture
    def harness(self, new_postgres_harness: PostgresHarness) -> Harness:
        return new_postgres_harness
