"""The Postgres store against the memory store: the same operations give the same sessions.

In between, writers crash; and in the second machine, connections break at any moment of any request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.support.postgres_fixtures import PostgresPlaces
from tests.support.postgres_proxy import LoopbackProxy, Moment
from tests.test_state_machine import Side, TwoStores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.postgres import PostgresServer

# Each example asks the server some thousand times, so that making a failing one smaller would take minutes.
FEW = settings(max_examples=max(8, settings().max_examples // 5), phases=(Phase.explicit, Phase.reuse, Phase.generate))


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

    def __init__(self) -> None:
        super().__init__()
        self._next: tuple[Moment, int] | None = None

    def both(self, do: Callable[[Side], object]) -> object:
        if self._next is not None:
            moment, after = self._next
            self._next = None
            self.proxy.strike(moment, after=after)
        return super().both(do)

    @rule(moment=st.sampled_from(Moment), after=st.integers(0, 3))
    def break_a_request_of_the_next_operation(self, moment: Moment, after: int) -> None:
        self._next = moment, after

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
