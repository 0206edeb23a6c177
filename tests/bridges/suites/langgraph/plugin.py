"""Puts SegueSaver in the place of the SQLite savers of LangGraph's own tests."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from segue.bridges.langgraph import SegueSaver
from segue.bridges.sessions import NamedSessions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

STORE = os.environ["SEGUE_SUITE_STORE"]
IS_COLD = "SEGUE_SUITE_COLD" in os.environ


class _Nothing(OrderedDict[str, Any]):
    """Remembers nothing."""

    def get(self, _key: str, _default: object = None) -> None:
        return None


class EmptySaver(SegueSaver):
    """A saver in a world of its own. With SEGUE_SUITE_COLD it reads everything again from the store at each call."""

    def __init__(self) -> None:
        # The serializer of the SQLite savers, which makes objects of any type: the tests have many of their own.
        super().__init__(STORE, serde=JsonPlusSerializer())
        self._use(NamedSessions(f"langgraph-{os.urandom(6).hex()}", self._sessions.library))
        if IS_COLD:
            self._cache._threads = _Nothing()


@contextmanager
def _sync() -> Iterator[EmptySaver]:
    yield EmptySaver()


@asynccontextmanager
async def _async() -> AsyncIterator[EmptySaver]:
    yield EmptySaver()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    sys.path.insert(0, str(config.rootpath))
    from tests import conftest

    conftest._checkpointer_sqlite = _sync
    conftest._checkpointer_sqlite_aio = _async
