"""claude-agent-sdk: `append` of one entry, `load` of the session. It ships one store, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_agent_sdk import InMemorySessionStore

from bench.bridges.side import Side
from bench.workload import role, text
from segue.bridges.claude_agent_sdk import SegueSessionStore

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library

_KEY: Any = {"project_key": "bench", "session_id": "00000000-0000-4000-8000-000000000007"}


class ClaudeAgentSdk(Side):
    def __init__(self, store: Any) -> None:  # noqa: ANN401 - any store
        self._store = store

    async def get(self) -> int:
        return len((await self._store.load(_KEY)) or ())

    async def put(self, *numbers: int) -> None:
        await self._store.append(_KEY, [_entry(number) for number in numbers])


def ours(library: Library) -> Side:
    return ClaudeAgentSdk(SegueSessionStore(library))


def memory(_folder: Path) -> Side:
    return ClaudeAgentSdk(InMemorySessionStore())


def _entry(number: int) -> dict[str, Any]:
    return {
        "type": role(number),
        "uuid": f"00000000-0000-4000-9000-{number:012}",
        "parentUuid": f"00000000-0000-4000-9000-{number - 1:012}" if number else None,
        "sessionId": _KEY["session_id"],
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": role(number), "content": text(number)},
    }
