"""The contract of an agent: the offline rules, a model, or a command on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from segue.errors import SegueError
from segue.model import JsonObject
from segue.tools import ToolCall, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.chat.conversation import Conversation
    from segue.session import LiveSession
    from segue.trust import Marks

Role = Literal["user", "assistant", "system", "tool"]


class Message(Struct, frozen=True, kw_only=True):
    """One message as it is sent; system prompts travel apart."""

    role: Role
    content: str
    parts: tuple[JsonObject, ...] = ()
    """As in a turn: tool calls, tool results, images by hash."""


class Request(Struct, frozen=True, kw_only=True):
    """What an agent receives: the window of the conversation, ending with the user's message."""

    system: str
    messages: tuple[Message, ...]
    model: str = ""
    """Empty for the agent's own choice."""
    temperature: float | None = None
    tools: tuple[ToolSpec, ...] = ()
    """The tools that the agent may call; agents without tool support ignore them."""


class TextDelta(Struct, frozen=True):
    """A piece of the answer, as it streams."""

    text: str


class Usage(Struct, frozen=True, kw_only=True):
    """The token counts of the provider; at most one per answer, and only from providers that count."""

    input_tokens: int
    output_tokens: int
    model: str = ""
    """The model that really answered."""


Piece = TextDelta | Usage | ToolCall
"""Calls come after the text, and only from an answer that arrived completely."""


class AgentError(SegueError):
    """There is no answer, and nothing was recorded for it; the user's turn is saved."""

    def __init__(self, message: str, *, hint: str = "", can_retry: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.can_retry = can_retry
        """Whether the same request may well succeed a moment later."""


class NoAgentError(AgentError):
    """No agent is available on this machine except the offline one, which was not asked for."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no agent is available ({reason})", hint="set an API key, or name an agent")


class Agent(Protocol):
    """Answers requests. It knows nothing of sessions, stores or terminals."""

    @property
    def name(self) -> str:
        """The name in the prompt: `offline`, `anthropic/claude-sonnet-4-5`, `claude -p`."""

    def answer(self, request: Request) -> Iterator[Piece]:
        """The answer, piece by piece, as it streams.

        Closing the iterator early stops the work and frees its resources (connection, process). Raises AgentError, also
        after some pieces, and nothing else.
        """


class Agents(Protocol):
    """The agents that a chat can switch to."""

    def names(self) -> Sequence[str]: ...

    def attach(self, session: LiveSession, agent: str, model: str) -> Conversation:
        """A conversation with the named agent or preset; empty names mean those of the session.

        A SegueError says which agents exist.
        """

    def marks_of(self, session: LiveSession) -> Marks:
        """What this user has set on this machine about a session."""
