"""An agent of Microsoft's Agent Framework whose sessions are in Segue: agent.py STORE SESSION QUESTION…

It needs no network: a small class takes the place of the model. Call it again, and it continues the same session.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    UsageDetails,
    tool,
)

from segue.bridges.agent_framework import SegueHistoryProvider

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence


class ScriptedClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """It asks for the weather, and then repeats what the tool returned."""

    def _inner_get_response(  # it does not stream
        self, *, messages: Sequence[Message], **_: object
    ) -> Awaitable[ChatResponse]:
        async def answer() -> ChatResponse:
            last = messages[-1].contents[-1]
            if last.type == "function_result":
                content = Content.from_text(str(last.result))
            else:
                city = (last.text or "").rstrip("?").split()[-1]
                content = Content.from_function_call(f"call-{city}", "get_weather", arguments={"city": city})
            usage = UsageDetails(input_token_count=20, output_token_count=8, total_token_count=28)
            return ChatResponse(messages=[Message("assistant", [content])], model="scripted-1", usage_details=usage)

        return answer()


@tool
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"In {city} it is sunny."


def new_agent(history: SegueHistoryProvider) -> Agent[Any]:
    return Agent(
        ScriptedClient(),
        name="forecaster",
        tools=[get_weather],
        context_providers=[history],
        require_per_service_call_history_persistence=True,
    )


async def main(store: str, session_id: str, *questions: str) -> None:
    with SegueHistoryProvider(store) as history:
        agent = new_agent(history)
        session = agent.create_session(session_id=session_id)
        for question in questions:
            print(await agent.run(question, session=session))
        print("messages so far:", len(await history.get_messages(session_id)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
