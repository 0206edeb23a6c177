"""An agent that talks to itself in a conversation: STORE TURNS. It continues where the last one stopped.

It acknowledges what the agent answered after each save, and the revision of the conversation.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from pydantic_ai import Agent, Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from segue.bridges.pydantic_ai import SegueConversationStore

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Call the tool for each question, and then answer with the number of questions so far."""
    last = messages[-1]
    if isinstance(last, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in last.parts):
        return ModelResponse(parts=[TextPart(f"answer {questions(messages)}")])
    return ModelResponse(parts=[ToolCallPart("look", {"at": questions(messages)}, f"call-{len(messages)}")])


def questions(messages: list[ModelMessage]) -> int:
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return sum(isinstance(part, UserPromptPart) for part in parts)


agent = Agent(FunctionModel(answer))


@agent.tool_plain
def look(at: int) -> str:
    return f"saw {at}"


async def main(url: str, count: int) -> None:
    store = SegueConversationStore(url)
    while True:
        conversation = await store.load("talk") or Conversation(conversation_id="talk")
        number = questions(conversation.messages) + 1
        if number > count:
            return
        result = await agent.run(f"question {number}", conversation=conversation)
        await store.save(result)
        sys.stdout.write(f"ack {result.output} {result.conversation.revision}\n")
        sys.stdout.flush()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
