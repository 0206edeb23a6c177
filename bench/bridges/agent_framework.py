"""agent-framework: `save_messages` with one message, `get_messages` for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_framework import FileHistoryProvider, Message

from bench.bridges.side import Side
from bench.workload import role, text
from segue.bridges.agent_framework import SegueHistoryProvider

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library


class AgentFramework(Side):
    def __init__(self, provider: Any) -> None:  # noqa: ANN401 - any provider
        self._provider = provider

    async def get(self) -> int:
        return len(await self._provider.get_messages("s"))

    async def put(self, *numbers: int) -> None:
        messages = [Message(role=role(number), contents=[text(number)]) for number in numbers]
        await self._provider.save_messages("s", messages)


def ours(library: Library) -> Side:
    return AgentFramework(SegueHistoryProvider(library))


def files(folder: Path) -> Side:
    return AgentFramework(FileHistoryProvider(folder / "history"))
