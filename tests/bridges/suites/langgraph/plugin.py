"""Puts SegueSaver in the place of the SQLite savers of LangGraph's own tests."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

# SegueSaver is strict; with this, so are the graphs, and they name the types of their states to it.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["NO_DOCKER"] = "true"

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from segue.bridges.langgraph import SegueSaver
from segue.bridges.sessions import NamedSessions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from langgraph.checkpoint.serde.base import SerializerProtocol

STORE = os.environ["SEGUE_SUITE_STORE"]
IS_COLD = "SEGUE_SUITE_COLD" in os.environ


class _Nothing(OrderedDict[str, Any]):
    """Remembers nothing."""

    def get(self, _key: str, _default: object = None) -> None:
        return None


class EmptySaver(SegueSaver):
    """A saver in a world of its own. With SEGUE_SUITE_COLD it reads everything again from the store at each call."""

    def __init__(self, serde: SerializerProtocol | None = None) -> None:
        super().__init__(STORE, serde=serde)
        self._use(NamedSessions(f"langgraph-{os.urandom(6).hex()}", self._sessions.library))
        if IS_COLD:
            self._cache._threads = _Nothing()


@contextmanager
def _sync() -> Iterator[EmptySaver]:
    with EmptySaver() as saver:
        yield saver


@contextmanager
def _encrypted() -> Iterator[EmptySaver]:
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    with EmptySaver(EncryptedSerializer.from_pycryptodome_aes(serde=strict, key=b"1234567890123456")) as saver:
        yield saver


@asynccontextmanager
async def _async() -> AsyncIterator[EmptySaver]:
    with EmptySaver() as saver:
        yield saver


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    sys.path.insert(0, str(config.rootpath))
    conftest: Any = import_module("tests.conftest")
    conftest._checkpointer_sqlite = _sync
    conftest._checkpointer_sqlite_aes = _encrypted
    conftest._checkpointer_sqlite_aio = _async
