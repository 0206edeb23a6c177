"""An agent of Pydantic AI whose conversations are in Segue: agent.py STORE CONVERSATION QUESTION…

It needs no network: a function takes the place of the model. Call it again, and it continues the conversation.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from pydantic_ai import Agent, Conversation
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from segue.bridges.pydantic_ai import SegueConversationStore

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo


def scripted(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Ask for the weather, and then repeat what the tool returned."""
    match messages[-1].parts[-1]:
        case ToolReturnPart(content=str(answer)):
            return ModelResponse(parts=[TextPart(answer)])
        case UserPromptPart(content=str(question)):
            city = question.rstrip("?").split()[-1]
            return ModelResponse(parts=[ToolCallPart("get_weather", {"city": city})])
    return ModelResponse(parts=[TextPart("Which city?")])


agent = Agent(FunctionModel(scripted, model_name="scripted-1"))


@agent.tool_plain
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"In {city} it is sunny."


async def main(url: str, conversation_id: str, *questions: str) -> None:
    with SegueConversationStore(url) as store:
        conversation = await store.load(conversation_id) or Conversation(conversation_id=conversation_id)
        for question in questions:
            result = await agent.run(question, conversation=conversation)
            await store.save(result)  # it survives whatever happens now
            conversation = result.conversation
            print(result.output)
        print("messages so far:", len(conversation.messages))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
