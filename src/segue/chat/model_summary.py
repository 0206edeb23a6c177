"""Where a conversation stopped, in the words of whoever answered there."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, cast

from segue.chat.agent import Message, Request, TextDelta
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.offline import OfflineAgent
from segue.chat.agents.selection import PROGRAMS
from segue.chat.stopping import stopping_only
from segue.chat.summary import shortened, summarize

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from segue.chat.agent import Agent, Piece
    from segue.model import Turn

LENGTH = 320
"""Of a summary: two sentences of some length."""
LOOKED_AT = 12
"""Turns that a summary is made of."""
_TURN_LENGTH = 4_000

_SYSTEM = "You note where a conversation stopped, so that whoever comes back to it finds the thread again."
_QUESTION = (
    "Below are the last turns of a conversation. In at most two short sentences: what was it about, where did it stop, "
    "and what is still open? Reply with these sentences alone, without a heading, as plain text.\n\n{turns}"
)


def summarise_with(agent: Agent, turns: Sequence[Turn], *, model: str = "") -> str:
    """Ask the agent, if it is a model; whatever goes wrong, Ctrl-C included, gives words of the turns themselves.

    Nothing is recorded.
    """
    turns = turns[-LOOKED_AT:]
    own = summarize(turns)
    if not own or not is_model(agent):
        return own
    try:
        with stopping_only(lambda: True):
            return _asked(agent, turns, model) or own
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - no summary is worth more than leaving
        return own


def is_model(agent: Agent) -> bool:
    """Whether it understands what it is asked: rules do not, and of any command nobody knows what it does."""
    if isinstance(agent, CommandAgent):
        return agent.name.partition(" ")[0] in PROGRAMS
    return not isinstance(agent, OfflineAgent)


def _asked(agent: Agent, turns: Sequence[Turn], model: str) -> str:
    said = "\n\n".join(f"[{turn.role}]\n{_cut(turn.content)}" for turn in turns if turn.content.strip())
    question = Message(role="user", content=_QUESTION.format(turns=said))
    text = ""
    # Every agent gives a generator; closing it is how it is told to stop.
    with closing(
        cast("Generator[Piece]", agent.answer(Request(system=_SYSTEM, messages=(question,), model=model)))
    ) as pieces:
        for piece in pieces:
            if isinstance(piece, TextDelta):
                text += piece.text
            if len(text) > 2 * LENGTH:
                break
    return shortened(text, LENGTH)


def _cut(content: str) -> str:
    """The beginning and the end of a turn: there it says what it is about, and where it stopped."""
    if len(content) <= _TURN_LENGTH:
        return content
    half = _TURN_LENGTH // 2
    return f"{content[:half]}\n[…]\n{content[-half:]}"
