"""pydantic-ai: `save` of a conversation that was loaded and has one message more, `load`. It ships one in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import Conversation, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.conversation_store import InMemoryConversationStore

from bench.bridges.side import Side
from bench.workload import role, text
from segue.bridges.pydantic_ai import SegueConversationStore

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library


class PydanticAi(Side):
    def __init__(self, store: Any) -> None:  # noqa: ANN401 - any store
        self._store = store
        self._conversation: Any = Conversation(conversation_id="s")

    async def open(self) -> None:
        self._conversation = await self._store.load("s") or self._conversation

    async def get(self) -> int:
        found = await self._store.load("s")
        return 0 if found is None else len(found.messages)

    async def put(self, *numbers: int) -> None:
        self._conversation.messages += [_message(number) for number in numbers]
        await self._store.save(self._conversation)


def ours(library: Library) -> Side:
    return PydanticAi(SegueConversationStore(library))


def memory(_folder: Path) -> Side:
    return PydanticAi(InMemoryConversationStore())


def _message(number: int) -> ModelRequest | ModelResponse:
    if role(number) == "user":
        return ModelRequest(parts=[UserPromptPart(content=text(number))])
    return ModelResponse(parts=[TextPart(content=text(number))])
