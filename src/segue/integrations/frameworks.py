"""The agent frameworks whose sessions programs store here with a module of `segue.bridges`.

A framework is not an AI tool: Segue cannot start it, and the program of the user continues its sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segue.model import Overview

FRAMEWORKS = {
    "agent-framework": "Microsoft Agent Framework",
    "claude-agent-sdk": "Claude Agent SDK",
    "google-adk": "Google ADK",
    "langgraph": "LangGraph",
    "openai-agents": "OpenAI Agents SDK",
    "pydantic-ai": "Pydantic AI",
    "strands": "Strands Agents",
}
"""By the name that their sessions have as their tool: the title."""

NAME, SCOPE = "name", "scope"
"""The fields of a session with what its framework calls it."""


def framework_of(about: Overview) -> str:
    """The title of the framework whose session it is, or its name if it is none of ours; empty if there is none."""
    tool = about.extra.get("tool")
    if not isinstance(tool, str):
        return ""
    return FRAMEWORKS.get(tool) or (tool if tool == about.agent and {NAME, SCOPE} <= about.extra.keys() else "")
