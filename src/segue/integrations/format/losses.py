"""What of a conversation is lost or changed when it is handed over in the form of `outgoing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import LONGEST_RESULT
from segue.integrations.format.parts import has_part
from segue.integrations.format.values import as_text, objects, sendable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import JsonObject, Turn

_CARRIED = {"tool_call", "tool_result", "text", "image", "file", "reasoning", "summary", "notice"}
_INVALID = "have characters that no tool accepts"


def find_losses(turns: Sequence[Turn], carries: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """One line for each kind of loss, with its number; empty if nothing is lost.

    `carries` is what the target accepts; see `Integration.carries`.
    """
    parts = [(turn, part) for turn in turns for part in turn.parts]
    kinds = [as_text(part.get("type")) for _, part in parts]
    unanswered, orphans = _unpaired(parts)
    failed = 0 if "failed" in carries else sum(part.get("is_error") is True for _, part in parts)
    found = [
        format_count(_images_left_out(parts, carries), "image", "images", "are left out"),
        format_count(kinds.count("reasoning"), "piece of reasoning", "pieces of reasoning", "are left out"),
        format_count(sum(map(_is_empty_file, parts)), "attached file", "attached files", "have no content here"),
        format_count(
            sum(kind not in _CARRIED for kind in kinds), "part of unknown type", "parts of unknown type", "are left out"
        ),
        format_count(unanswered, "call", "calls", "have no result, and are marked as interrupted"),
        format_count(orphans, "result", "results", "belong to no call, and get an empty one"),
        format_count(sum(_is_cut(turn, part) for turn, part in parts), "result", "results", "are shortened"),
        format_count(failed, "call", "calls", "are not marked as failed"),
        format_count(
            sum(map(_is_system, turns)),
            "turn of the system",
            "turns of the system",
            "are handed over as said by the user",
        ),
        format_count(sum(sendable(turn.content) != turn.content for turn in turns), "turn", "turns", _INVALID),
    ]
    return tuple(line for line in found if line)


def _images_left_out(parts: Sequence[tuple[Turn, JsonObject]], carries: frozenset[str]) -> int:
    of_users = [part for _, part in parts if part.get("type") == "image"]
    of_results = [image for _, part in parts for image in objects(part.get("images"))]
    lost = sum(not image.get("data") for image in of_users) if "images" in carries else len(of_users)
    return lost + (
        sum(not image.get("data") for image in of_results) if "result_images" in carries else len(of_results)
    )


def _is_empty_file(item: tuple[Turn, JsonObject]) -> bool:
    return item[1].get("type") == "file" and not item[1].get("content")


def _unpaired(parts: Sequence[tuple[Turn, JsonObject]]) -> tuple[int, int]:
    """How many calls have no result, and how many results no call."""
    waiting: set[str] = set()
    unanswered = orphans = 0
    for _, part in parts:
        name = as_text(part.get("id"))
        if part.get("type") == "tool_call":
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


_SINGULAR = (("are ", "is "), ("belong ", "belongs "), ("have ", "has "), ("get ", "gets "))


def _is_cut(turn: Turn, part: JsonObject) -> bool:
    if part.get("type") != "tool_result":
        return False
    return len(as_text(part.get("content")) or turn.content) > LONGEST_RESULT


def _is_system(turn: Turn) -> bool:
    """Whether the user gave it as an instruction, for which most tools have no place in a conversation."""
    is_shown = not has_part(turn, "summary") and not has_part(turn, "notice")
    return turn.role == "system" and is_shown and bool(turn.content.strip())
