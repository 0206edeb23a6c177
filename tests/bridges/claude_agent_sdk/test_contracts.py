"""The contracts that the SDK has for every session store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from claude_agent_sdk.testing import run_session_store_conformance

from segue.bridges import NamedSessions, new_id
from segue.bridges.claude_agent_sdk import SegueSessionStore

if TYPE_CHECKING:
    from pathlib import Path

BACKENDS = ("asyncio", "trio")


@pytest.mark.parametrize(
    ("scheme", "backend"), [("journal", "asyncio"), ("journal", "trio"), ("cortext", "asyncio"), ("memory", "trio")]
)
def test_the_contracts_hold(tmp_path: Path, scheme: str, backend: str) -> None:
    """A journal is read from where it was known; the files of cortext may be edited, and are read again."""
    places = iter(range(100))

    def new_store() -> SegueSessionStore:
        return SegueSessionStore("memory:" if scheme == "memory" else f"{scheme}:{tmp_path}/{next(places)}")

    anyio.run(run_session_store_conformance, new_store, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_contracts_hold_on_postgres(postgres_url: str, backend: str) -> None:
    def new_store() -> SegueSessionStore:
        store = SegueSessionStore(postgres_url)
        store._sessions = NamedSessions(new_id(), store._sessions.library)  # where nothing was appended
        return store

    anyio.run(run_session_store_conformance, new_store, backend=backend)
