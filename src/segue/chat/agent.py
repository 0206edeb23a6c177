"""Whoever answers: the contract between the engine and the offline partner, a model, or a command on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from segue.errors import SegueError
from segue.model import JsonObject
from segue.tools import ToolCall, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

Role = Literal["user", "assistant", "system", "tool"]


class Message(Struct, frozen=True, kw_only=True):
    """One message as it is sent; system prompts travel apart."""

    role: Role
    content: str
    parts: tuple[JsonObject, ...] = ()
    """As in a turn: tool calls, tool results, images by hash."""


class Request(Struct, frozen=True, kw_only=True):
    """All that an agent is told: the window of the conversation, ending with the user's message."""

    system: str
    messages: tuple[Message, ...]
    model: str = ""
    """Empty for the agent's own choice."""
    temperature: float | None = None
    tools: tuple[ToolSpec, ...] = ()
    """What the agent may ask for; those that know of no tools pass over it."""


class TextDelta(Struct, frozen=True):
    """A piece of the answer, as it streams."""

    text: str


class Usage(Struct, frozen=True, kw_only=True):
    """What the provider counted; at most one, and only from those that count."""

    input_tokens: int
    output_tokens: int
    model: str = ""
    """The model that really answered."""


Piece = TextDelta | Usage | ToolCall
"""Calls come behind the text, and only of an answer that came whole."""


class AgentError(SegueError):
    """No answer came. Nothing was recorded for it, and the user's turn is kept."""

    def __init__(self, message: str, *, hint: str = "", can_retry: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.can_retry = can_retry
        """Whether the same request may well succeed a moment later."""


class NoAgentError(AgentError):
    """No agent is available on this machine except the offline one, which was not asked for."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no agent is available ({reason})", hint="set an API key, or name an agent")


class Agent(Protocol):
    """Answers requests. Knows nothing of sessions, stores or terminals."""

    @property
    def name(self) -> str:
        """What the prompt shows: `offline`, `anthropic/claude-sonnet-4-5`, `claude -p`."""

    def answer(self, request: Request) -> Iterator[Piece]:
        """The answer, piece by piece, as it comes.

        Closing the iterator early stops the work and frees what it holds (connection, process). Raises AgentError, also
        after some pieces, and nothing else.
        """
