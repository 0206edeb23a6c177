"""An agent of Strands whose sessions are in Segue: agent.py STORE SESSION QUESTION…

It needs no network: a small class takes the place of the model. Call it again, and it continues the same session.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from strands import Agent, tool
from strands.models import Model
from strands.session.repository_session_manager import RepositorySessionManager

from segue.bridges.strands import SegueRepository

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from strands.types.content import Messages
    from strands.types.streaming import StreamEvent


class ScriptedModel(Model):
    """It asks for the weather, and then repeats what the tool returned."""

    async def stream(self, messages: Messages, *_: object, **__: object) -> AsyncGenerator[StreamEvent, None]:
        last = messages[-1]["content"][-1]
        yield {"messageStart": {"role": "assistant"}}
        if "toolResult" in last:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": last["toolResult"]["content"][0]["text"]}}}
            reason = "end_turn"
        else:
            city = last["text"].rstrip("?").split()[-1]
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "get_weather", "toolUseId": f"call-{city}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"city": city})}}}}
            reason = "tool_use"
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": reason}}  # type: ignore[typeddict-item]  # one of those that it lists
        usage = {"inputTokens": 20, "outputTokens": 8, "totalTokens": 28}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}  # type: ignore[typeddict-item]  # the same

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "scripted-1"}

    def update_config(self, **model_config: object) -> None:
        """Nothing of it can be configured."""

    def structured_output(self, *_: object, **__: object) -> AsyncGenerator[dict[str, Any], None]:
        raise NotImplementedError


@tool
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"In {city} it is sunny."


def main(store: str, session: str, *questions: str) -> None:
    with SegueRepository(store) as repository:
        manager = RepositorySessionManager(session, repository)
        agent = Agent(
            agent_id="forecaster",
            model=ScriptedModel(),
            tools=[get_weather],
            session_manager=manager,
            callback_handler=None,
        )
        for question in questions:
            print(str(agent(question)).strip())
        print("messages so far:", len(agent.messages))


if __name__ == "__main__":
    main(*sys.argv[1:])
