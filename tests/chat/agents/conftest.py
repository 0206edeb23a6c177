from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.providers.houses import HOUSES

if TYPE_CHECKING:
    from tests.support.providers.houses import ProviderFixture


@pytest.fixture(params=HOUSES, ids=lambda house: house.name)
def house(request: pytest.FixtureRequest) -> ProviderFixture:
    """Each of the providers in turn."""
    found: ProviderFixture = request.param
    return found


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way to 127.0.0.1 leads through no proxy, whatever the machine is set to."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
