"""A small real agent that says what it is told to say, and remembers what it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.agent import Request, TextDelta, Usage
from segue.chat.context.tokens import Estimate
from segue.chat.conversation import Conversation
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.chat.agent import Piece
    from segue.library import Library
    from segue.model import Turn
    from segue.presets import Preset
    from segue.session import LiveSession

Step = str | Usage | ToolCall | BaseException
"""A piece of the answer, what the provider counted, what is to be done, or what goes wrong at this point."""


class ScriptedAgent:
    """Answers the first question with the first script, the second with the second, and the rest with the last."""

    name = "partner"

    def __init__(self, *scripts: tuple[Step, ...], when_asked: Callable[[], object] = lambda: None) -> None:
        self.requests: list[Request] = []
        self.closed = 0
        """How many answers were over, in whatever way."""
        self._scripts = scripts or (("yes",),)
        self._when_asked = when_asked

    def answer(self, request: Request) -> Iterator[Piece]:
        script = self._scripts[min(len(self.requests), len(self._scripts) - 1)]
        self.requests.append(request)
        self._when_asked()
        try:
            for step in script:
                if isinstance(step, BaseException):
                    raise step
                yield TextDelta(step) if isinstance(step, str) else step
        finally:
            self.closed += 1


def talk(
    session: LiveSession, partner: ScriptedAgent, preset: Preset | None = None, *, max_tokens: int = 1000
) -> Conversation:
    return Conversation(session, partner, preset=preset, max_tokens=max_tokens, counter=Estimate())


def said(library: Library) -> list[tuple[str, str]]:
    """What another process would read now."""
    return [(turn.role, turn.content) for turn in library.load("talk").turns]


def last(library: Library) -> Turn:
    return library.load("talk").turns[-1]
