"""The Postgres store against the memory store: the same operations give the same sessions.

In between, writers crash; and in the second machine, connections break at any moment of any request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.support.postgres_fixtures import PostgresPlaces
from tests.support.postgres_proxy import LoopbackProxy, Moment
from tests.test_state_machine import Side, TwoStores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer

# Each example asks the server some thousand times.
FEW = settings(max_examples=max(8, settings().max_examples // 5))


class PostgresAndMemory(TwoStores):
    places: ClassVar[PostgresPlaces]

    def __init__(self) -> None:
        super().__init__()
        self.journal = Side(self.places.take(), self.now)

    def teardown(self) -> None:
        super().teardown()
        self.places.give_back()


class BadNetwork(PostgresAndMemory):
    proxy: ClassVar[LoopbackProxy]

    @rule(moment=st.sampled_from(Moment))
    def break_the_next_request(self, moment: Moment) -> None:
        self.proxy.strike(moment)

    @rule()
    def cut(self) -> None:
        self.proxy.cut()


class TestPostgresAndMemory(PostgresAndMemory.TestCase):  # type: ignore[misc, valid-type]  # made by Hypothesis
    settings = FEW

    @pytest.fixture(autouse=True)
    def _places(self, postgres_places: PostgresPlaces) -> None:
        PostgresAndMemory.places = postgres_places


class TestBadNetwork(BadNetwork.TestCase):  # type: ignore[misc, valid-type]  # made by Hypothesis
    settings = FEW

    @pytest.fixture(autouse=True)
    def _network(self, postgres_server: PostgresServer) -> Iterator[None]:
        with LoopbackProxy(postgres_server) as proxy:
            BadNetwork.proxy = proxy
            BadNetwork.places = PostgresPlaces(postgres_server, front=proxy)
            yield
