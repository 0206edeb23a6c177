"""What of a conversation is lost or changed when it is handed over in the form of `outgoing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import LONGEST_RESULT
from segue.integrations.format.values import as_text, sendable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import JsonObject, Turn

_CARRIED = {"tool_call", "tool_result", "text"}
_INVALID = "have characters that no tool accepts"
_NAMED = {"image": ("image", "images"), "reasoning": ("piece of reasoning", "pieces of reasoning")}


def find_losses(turns: Sequence[Turn]) -> tuple[str, ...]:
    """One line for each kind of loss, with its number; empty if nothing is lost."""
    parts = [(turn, part) for turn in turns for part in turn.parts]
    kinds = [as_text(part.get("type")) for _, part in parts]
    unknown = sum(kind not in _CARRIED and kind not in _NAMED for kind in kinds)
    unknown += sum(part.get("type") == "tool_call" and turn.role != "assistant" for turn, part in parts)
    unanswered, orphans = _unpaired(parts)
    found = [format_count(kinds.count(kind), *nouns, "are left out") for kind, nouns in _NAMED.items()]
    found += [
        format_count(unknown, "part of unknown type", "parts of unknown type", "are left out"),
        format_count(unanswered, "call", "calls", "have no result, and are marked as interrupted"),
        format_count(orphans, "result", "results", "belong to no call, and are handed over as text"),
        format_count(sum(_is_cut(turn, part) for turn, part in parts), "result", "results", "are shortened"),
        format_count(
            sum(part.get("is_error") is True for _, part in parts), "call", "calls", "are not marked as failed"
        ),
        format_count(sum(map(_is_other_role, turns)), "turn", "turns", "are handed over as said by the user"),
        format_count(sum(turn.partial for turn in turns), "answer", "answers", "are not marked as cut off"),
        format_count(sum(sendable(turn.content) != turn.content for turn in turns), "turn", "turns", _INVALID),
    ]
    return tuple(line for line in found if line)


def _unpaired(parts: Sequence[tuple[Turn, JsonObject]]) -> tuple[int, int]:
    """How many calls have no result, and how many results no call."""
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


def format_count(number: int, one: str, many: str, predicate: str) -> str:
    """The number with the noun and the predicate, in the plural or the singular; empty for none."""
    if number != 1:
        return f"{number:,} {many} {predicate}" if number else ""
    for plural, singular in _SINGULAR:
        predicate = predicate.replace(plural, singular)
    return f"1 {one} {predicate}"


_SINGULAR = (("are ", "is "), ("belong ", "belongs "), ("have ", "has "))


def _is_cut(turn: Turn, part: JsonObject) -> bool:
    if part.get("type") != "tool_result":
        return False
    return len(as_text(part.get("content")) or turn.content) > LONGEST_RESULT


def _is_other_role(turn: Turn) -> bool:
    """Whether its role is neither that of the user nor of the assistant."""
    has_results = any(part.get("type") == "tool_result" for part in turn.parts)
    return turn.role in {"system", "tool"} and not has_results and bool(turn.content.strip())
