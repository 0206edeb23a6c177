"""Where a conversation stopped, in one or two sentences of its own: no model is asked."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Turn

SENTENCE_LENGTH = 160

_CODE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d+[.)][ \t]+)+|\*{1,3}|`+", re.MULTILINE)
_QUESTIONS = ("?", "\uff1f")
_WIDE_ENDS = "\u3002\uff01\uff1f"  # full stop, exclamation and question mark of Chinese and Japanese
_END = re.compile(rf"(?<=[.!?\u2026])[\"')\]\u201d\u2019]*\s+(?=\S)|(?<=[{_WIDE_ENDS}])|\n+")
_JOINED = "\u200d\ufe0e\ufe0f"


def summarize(turns: Sequence[Turn]) -> str:
    """What was asked last, and what was said to it; empty for a conversation in which nothing was said."""
    asked, asked_at = _newest(turns, "user")
    answer, answered_at = _newest(turns, "assistant")
    if asked is not None and asked_at > answered_at:
        return f"Not answered yet: {_first(asked.content)}"
    if answer is None:
        return ""
    told = f"The answer was cut off after: {_first(answer.content)}" if answer.partial else _point(answer.content)
    return f"You asked: {_ended(_first(asked.content))} {told}" if asked is not None else told


def shortened(text: str, length: int = SENTENCE_LENGTH) -> str:
    """The text on one line, cut between words where possible and never inside a character as people see them."""
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
    """The newest turn of the role that says anything, and its place."""
    for place in range(len(turns) - 1, -1, -1):
        if turns[place].role == role and _sentences(turns[place].content):
            return turns[place], place
    return None, -1


def _first(content: str) -> str:
    return shortened(_sentences(content)[0])


def _ended(sentence: str) -> str:
    return sentence if unicodedata.category(sentence[-1]).startswith("P") else f"{sentence}."


def _point(content: str) -> str:
    """A question at the end is where the conversation stopped; else the first sentence says the most."""
    sentences = _sentences(content)
    if len(sentences) > 1 and sentences[-1].endswith(_QUESTIONS):
        return f"Still open: {shortened(sentences[-1])}"
    return f"Answer: {shortened(sentences[0])}"


def _sentences(content: str) -> list[str]:
    text = _MARKUP.sub("", _CODE.sub("\n", content)) if content.strip() else ""
    found = [sentence.strip() for sentence in _END.split(text) if any(char.isalnum() for char in sentence)]
    return found or ([" ".join(content.split())] if content.strip() else [])


def _is_continued(character: str) -> bool:
    """Whether it belongs to the one before: an accent, a variation, a skin tone, half of a flag."""
    code = ord(character)
    return (
        character in _JOINED
        or unicodedata.category(character).startswith("M")
        or 0x1F3FB <= code <= 0x1F3FF  # noqa: PLR2004 - skin tones
        or 0x1F1E6 <= code <= 0x1F1FF  # noqa: PLR2004 - letters of flags
    )
