"""What of a conversation is lost or changed when it is handed over in the form of `outgoing`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from segue.formats.terminal import one_line
from segue.integrations.format.outgoing import LONGEST_RESULT
from segue.integrations.format.pairs import is_spoken, pair_calls, pairs_of
from segue.integrations.format.parts import has_image_data
from segue.integrations.format.values import as_text, objects, sendable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.model import JsonObject, Turn

_CARRIED = {"tool_call", "tool_result", "image", "file", "reasoning", "summary", "notice"}
_INVALID = "have characters that no tool accepts"


def find_losses(turns: Sequence[Turn], carries: frozenset[str] = frozenset(), *, shortened: int = 0) -> tuple[str, ...]:
    """One line for each kind of loss, with its number; empty if nothing is lost.

    `carries` is what the target accepts; see `Integration.carries`. `shortened` is how many results are shorter here
    than they were recorded.
    """
    parts = [part for turn in turns for part in turn.parts]
    kinds = Counter(as_text(part.get("type")) for part in parts)
    pairs = pair_calls(turns)
    results = [pair.result for n, turn in enumerate(turns) for pair in pairs_of(turn, n, pairs) if pair.result]
    cut = sum(len(as_text(result.get("content"))) > LONGEST_RESULT for result in results) + shortened
    interrupted = sum(pair.result is None for pair in pairs.values())
    orphans = sum(pair.is_orphan for pair in pairs.values())
    failed = 0 if "failed" in carries else sum(part.get("is_error") is True for part in parts)
    found = [
        format_count(_images_left_out(turns, carries), "image", "images", "are left out"),
        format_count(kinds["reasoning"], "piece of reasoning", "pieces of reasoning", "are left out"),
        format_count(sum(map(_is_empty_file, parts)), "attached file", "attached files", "have no content here"),
        *_unknown_kinds(kinds),
        format_count(interrupted, "call", "calls", "have no result, and are marked as interrupted"),
        format_count(orphans, "result", "results", "belong to no call, and get an empty one"),
        format_count(cut, "result", "results", "are shortened"),
        format_count(failed, "call", "calls", "are not marked as failed"),
        format_count(
            sum(map(_is_system, turns)),
            "turn of the system",
            "turns of the system",
            "are handed over as said by the user",
        ),
        format_count(sum(map(_is_changed, turns)), "turn", "turns", _INVALID),
    ]
    return tuple(line for line in found if line)


def _images_left_out(turns: Sequence[Turn], carries: frozenset[str]) -> int:
    return sum(not (kind in carries and has_image_data(image)) for turn in turns for kind, image in _images(turn))


def _images(turn: Turn) -> Iterator[tuple[str, JsonObject]]:
    """Every image of a turn, and what a target has to carry for it."""
    is_by_user = is_spoken(turn) and turn.role != "assistant"
    of_model = "" if is_spoken(turn) else "result_images"
    for part in turn.parts:
        if part.get("type") == "image":
            yield "images" if is_by_user else of_model, part
        yield from (("result_images", image) for image in objects(part.get("images")))


def _unknown_kinds(kinds: Counter[str]) -> Iterator[str]:
    for kind, number in sorted(kinds.items()):
        if kind not in _CARRIED:
            name = f"of type {one_line(kind)[:40]!r}" if kind else "without a type"
            yield format_count(number, f"part {name}", f"parts {name}", "are left out")


def _is_empty_file(part: JsonObject) -> bool:
    return part.get("type") == "file" and not part.get("content")


def _is_changed(turn: Turn) -> bool:
    texts = [turn.content, *(as_text(part.get(name)) for part in turn.parts for name in ("content", "arguments"))]
    return any(sendable(text) != text for text in texts)


def format_count(number: int, one: str, many: str, predicate: str) -> str:
    """The number with the noun and the predicate, in the plural or the singular; empty for none."""
    if number != 1:
        return f"{number:,} {many} {predicate}" if number else ""
    for plural, singular in _SINGULAR:
        predicate = predicate.replace(plural, singular)
    return f"1 {one} {predicate}"


_SINGULAR = (("are ", "is "), ("belong ", "belongs "), ("have ", "has "), ("get ", "gets "))


def _is_system(turn: Turn) -> bool:
    """Whether the user gave it as an instruction, for which most tools have no place in a conversation."""
    return turn.role == "system" and is_spoken(turn) and bool(turn.content.strip())
