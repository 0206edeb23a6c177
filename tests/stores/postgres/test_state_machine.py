"""The Postgres store against the memory store: the same operations, with crashes, give the same sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import settings

from tests.test_state_machine import Side, TwoStores

if TYPE_CHECKING:
    from tests.support.postgres_fixtures import PostgresPlaces


class PostgresAndMemory(TwoStores):
    places: ClassVar[PostgresPlaces]

    def __init__(self) -> None:
        super().__init__()
        self.journal = Side(self.places.take(), self.now)

    def teardown(self) -> None:
        super().teardown()
        self.places.give_back()


class TestPostgresAndMemory(PostgresAndMemory.TestCase):  # type: ignore[misc, valid-type]  # made by Hypothesis
    # Each example asks the server some thousand times.
    settings = settings(max_examples=max(8, settings().max_examples // 5))

    @pytest.fixture(autouse=True)
    def _places(self, postgres_places: PostgresPlaces) -> None:
        PostgresAndMemory.places = postgres_places
