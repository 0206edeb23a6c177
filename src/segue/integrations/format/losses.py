"""What of a conversation stays behind, or arrives as something else, when it is handed over as `preload` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import LONGEST_RESULT, sendable
from segue.integrations.format.transcript import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import JsonObject, Turn

_CARRIED = {"tool_call", "tool_result", "text"}
_ODD = "have characters that no tool takes"
_NAMED = {"image": ("image", "images"), "reasoning": ("piece of reasoning", "pieces of reasoning")}


def losses(turns: Sequence[Turn]) -> tuple[str, ...]:
    """One line for each kind, with how often; nothing where all of it is carried."""
    parts = [(turn, part) for turn in turns for part in turn.parts]
    kinds = [as_text(part.get("type")) for _, part in parts]
    strange = sum(kind not in _CARRIED and kind not in _NAMED for kind in kinds)
    strange += sum(part.get("type") == "tool_call" and turn.role != "assistant" for turn, part in parts)
    unanswered, orphans = _unpaired(parts)
    found = [counted(kinds.count(kind), *words, "stay behind") for kind, words in _NAMED.items()]
    found += [
        counted(strange, "part of a kind that no tool knows", "parts of kinds that no tool knows", "stay behind"),
        counted(unanswered, "call", "calls", "got no result, and are told as interrupted"),
        counted(orphans, "result", "results", "belong to no call, and are told in words"),
        counted(sum(_is_cut(turn, part) for turn, part in parts), "result", "results", "are cut short"),
        counted(sum(part.get("is_error") is True for _, part in parts), "call", "calls", "are not marked as failed"),
        counted(sum(map(_is_other_side, turns)), "turn", "turns", "are told as the user's"),
        counted(sum(turn.partial for turn in turns), "answer", "answers", "are not marked as cut off"),
        counted(sum(sendable(turn.content) != turn.content for turn in turns), "turn", "turns", _ODD),
    ]
    return tuple(line for line in found if line)


def _unpaired(parts: Sequence[tuple[Turn, JsonObject]]) -> tuple[int, int]:
    """How many calls have no result, and how many results no call, told as `preload` tells them."""
    waiting: set[str] = set()
    unanswered = orphans = 0
    for turn, part in parts:
        name = as_text(part.get("id"))
        if part.get("type") == "tool_call" and turn.role == "assistant":
            waiting.add(name)
            unanswered += 1
        elif part.get("type") == "tool_result" and name in waiting:
            waiting.remove(name)
            unanswered -= 1
        elif part.get("type") == "tool_result":
            orphans += 1
    return unanswered, orphans


def counted(number: int, one: str, many: str, what: str) -> str:
    """`what` is said of many, and of one; empty of none."""
    if number != 1:
        return f"{number:,} {many} {what}" if number else ""
    for plural, singular in _ONE:
        what = what.replace(plural, singular)
    return f"1 {one} {what}"


_ONE = (("stay ", "stays "), ("are ", "is "), ("belong ", "belongs "), ("have ", "has "))


def _is_cut(turn: Turn, part: JsonObject) -> bool:
    if part.get("type") != "tool_result":
        return False
    return len(as_text(part.get("content")) or turn.content) > LONGEST_RESULT


def _is_other_side(turn: Turn) -> bool:
    """Whether there is no side for who said it."""
    brings_results = any(part.get("type") == "tool_result" for part in turn.parts)
    return turn.role in {"system", "tool"} and not brings_results and bool(turn.content.strip())
