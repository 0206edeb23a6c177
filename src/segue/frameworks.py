"""The agent frameworks whose sessions programs store here with a module of `segue.bridges`.

A framework is not an AI tool: Segue cannot start it, and the program of the user continues its sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import UsageError

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


class FrameworkSessionError(UsageError):
    """The session is continued by a program of the user, which Segue does not start."""

    def __init__(self, session_id: str, title: str) -> None:
        super().__init__(f"session {session_id} is continued by your program that uses {title:.60}")
        self.session_id = session_id


def framework_of(about: Overview) -> str:
    """The title of the framework whose session it is, or its name if it is none of ours; empty if there is none."""
    tool = about.extra.get("tool")
    return FRAMEWORKS.get(tool if isinstance(tool, str) else "", about.framework)
