"""What a session asks for when it names an agent, so that a person can agree to it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from segue.tools.demands import AGENT, REACH, Demand

if TYPE_CHECKING:
    from segue.chat.agents import AgentSpec


def agent_demand(spec: AgentSpec, *, chosen_model: bool = False) -> Demand:
    """To be answered by this agent; by it with another model, where a person has chosen that one now."""
    match spec.kind:
        case "command" | "tool":
            words = f"the command {shlex.join(spec.argv)}"
        case kind if spec.base_url:
            words = f"{spec.model or kind} at {spec.base_url}"
        case _:
            words = str(spec)
    if chosen_model:
        return Demand(part=REACH, content=str(spec.reach), words=words)
    return Demand(part=AGENT, content=str(spec), words=words)
