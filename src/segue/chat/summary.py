"""Where a conversation stopped, in one or two sentences: taken from its turns, or written by its model."""

from __future__ import annotations

import re
import unicodedata
from contextlib import closing
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from segue.chat.agent import Agent, Piece
    from segue.model import Turn

SENTENCE_LENGTH = 160

_CODE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d+[.)][ \t]+)+|\*{1,3}|`+", re.MULTILINE)
_QUESTIONS = ("?", "\uff1f")
_WIDE_ENDS = "\u3002\uff01\uff1f"  # full stop, exclamation and question mark of Chinese and Japanese
_END = re.compile(rf"(?<=[.!?\u2026])[\"')\]\u201d\u2019]*\s+(?=\S)|(?<=[{_WIDE_ENDS}])|\n+")
_JOINED = "\u200d\ufe0e\ufe0f"


def summarize(turns: Sequence[Turn]) -> str:
    """The last question and its answer, without asking a model; empty for a conversation without turns."""
    asked, asked_at = _newest(turns, "user")
    answer, answered_at = _newest(turns, "assistant")
    if asked is not None and asked_at > answered_at:
        return f"Not answered yet: {_first(asked.content)}"
    if answer is None:
        return ""
    point = f"The answer was cut off after: {_first(answer.content)}" if answer.partial else _point(answer.content)
    return f"You asked: {_ended(_first(asked.content))} {point}" if asked is not None else point


def shortened(text: str, length: int = SENTENCE_LENGTH) -> str:
    """The text on one line, cut between words where possible, and never inside a visible character."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    cut = text.rfind(" ", length // 2, length)
    if cut < 0:
        cut = length - 1
        while cut > 1 and (_is_continued(text[cut]) or text[cut - 1] == _JOINED[0]):
            cut -= 1
    return f"{text[:cut].rstrip()}…"


def _newest(turns: Sequence[Turn], role: str) -> tuple[Turn | None, int]:
    """The newest turn of the role that has any text, and its index."""
    for place in range(len(turns) - 1, -1, -1):
        if turns[place].role == role and _sentences(turns[place].content):
            return turns[place], place
    return None, -1


def _first(content: str) -> str:
    return shortened(_sentences(content)[0])


def _ended(sentence: str) -> str:
    return sentence if unicodedata.category(sentence[-1]).startswith("P") else f"{sentence}."


def _point(content: str) -> str:
    """A question at the end is where the conversation stopped; otherwise the first sentence says the most."""
    sentences = _sentences(content)
    if len(sentences) > 1 and sentences[-1].endswith(_QUESTIONS):
        return f"Still open: {shortened(sentences[-1])}"
    return f"Answer: {shortened(sentences[0])}"


def _sentences(content: str) -> list[str]:
    text = _MARKUP.sub("", _CODE.sub("\n", content)) if content.strip() else ""
    found = [sentence.strip() for sentence in _END.split(text) if any(char.isalnum() for char in sentence)]
    return found or ([" ".join(content.split())] if content.strip() else [])


def _is_continued(character: str) -> bool:
    """Whether it belongs to the character before: an accent, a variation, a skin tone, half of a flag."""
    code = ord(character)
    return (
        character in _JOINED
        or unicodedata.category(character).startswith("M")
        or 0x1F3FB <= code <= 0x1F3FF  # noqa: PLR2004 - skin tones
        or 0x1F1E6 <= code <= 0x1F1FF  # noqa: PLR2004 - letters of flags
    )


LENGTH = 320
"""Of a summary: two sentences of some length."""
SUMMARIZED_TURNS = 12
_TURN_LENGTH = 4_000

_SYSTEM = "You summarize where a conversation stopped, so that the user can pick it up again later."
_QUESTION = (
    "Below are the last turns of a conversation. In at most two short sentences: what was it about, where did it stop, "
    "and what is still open? Reply with these sentences alone, without a heading, as plain text.\n\n{turns}"
)


def summarize_with(agent: Agent, turns: Sequence[Turn], *, model: str = "") -> str:
    """Ask the agent for a summary, if it is a model; after any error, and after Ctrl-C, `summarize` the turns.

    Nothing is recorded.
    """
    from segue import process

    turns = turns[-SUMMARIZED_TURNS:]
    own = summarize(turns)
    if not own or not is_model(agent):
        return own
    try:
        with process.interruptible(lambda: True):
            return _ask_for_summary(agent, turns, model) or own
    except (Exception, KeyboardInterrupt):  # noqa: BLE001 - leaving must not fail for want of a summary
        return own


def is_model(agent: Agent) -> bool:
    """Whether the agent is a language model: rules are not, and of a command it is not known."""
    from segue.chat.agents.command import CommandAgent
    from segue.chat.agents.offline import OfflineAgent
    from segue.chat.agents.selection import PROGRAMS

    if isinstance(agent, CommandAgent):
        return agent.name.partition(" ")[0] in PROGRAMS
    return not isinstance(agent, OfflineAgent)


def _ask_for_summary(agent: Agent, turns: Sequence[Turn], model: str) -> str:
    from segue.chat.agent import Message, Request, TextDelta

    shown = "\n\n".join(f"[{turn.role}]\n{_cut(turn.content)}" for turn in turns if turn.content.strip())
    question = Message(role="user", content=_QUESTION.format(turns=shown))
    text = ""
    # Every agent returns a generator; closing it stops the agent.
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
    """The beginning and the end of a turn: they tell what it is about, and where it stopped."""
    if len(content) <= _TURN_LENGTH:
        return content
    half = _TURN_LENGTH // 2
    return f"{content[:half]}\n[…]\n{content[-half:]}"
