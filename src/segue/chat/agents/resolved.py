"""The settings of conversations, and the agent that was chosen for one."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

from msgspec import Struct

from segue.chat.agent import Agent
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.selection import AgentSpec, Why
from segue.chat.conversation import MAX_TOKENS
from segue.presets import Preset

_DATE = re.compile(r"-\d{8}$|-\d{4}-\d{2}-\d{2}$")


class ChatSettings(Struct, frozen=True, kw_only=True):
    """The settings of conversations; empty where the configuration has none."""

    agent: str = ""
    """A preset, or an agent as `--agent` names it."""
    model: str = ""
    max_tokens: int = MAX_TOKENS
    idle_minutes: float = 5
    """After this time at the prompt without a key, a session is paused; 0 for never."""
    openai_base_url: str = ""


class ResolvedAgent(Struct, frozen=True, kw_only=True):
    """Who answers, with which prompt, and why."""

    agent: Agent
    spec: AgentSpec
    preset: Preset | None = None
    tools: tuple[str, ...] = ()
    """The names of the tools that the agent may call."""
    why: Why
    note: str = ""
    """The reason for the choice, where no agent was named."""
    missing_extra: str = ""
    """The extra to install for a provider whose key is set; empty if none is missing."""
    named: dict[str, str] = {}
    """The agent (unless it is a preset) and the model that the user named: what the session records."""

    @property
    def title(self) -> str:
        return "the offline agent" if self.spec.kind == "offline" else self.agent.name

    @property
    def label(self) -> str:
        """A short name for the session: of the preset, or of the agent."""
        if self.preset is not None:
            return self.preset.name
        if isinstance(self.agent, CommandAgent):
            return short_name(self.agent)
        return self.agent.name.partition("@http")[0]


def short_name(agent: Agent) -> str:
    """The name for a prompt: a program without its path and options, a model without its provider, server and date."""
    if isinstance(agent, CommandAgent):
        return PurePath(shlex.split(agent.name)[0]).name
    model = agent.name.partition("@http")[0].rpartition("/")[2]
    return _DATE.sub("", model) or agent.name
