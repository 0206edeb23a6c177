"""Tool calls with their results, and everything else that no person said in the form of such a pair.

Providers refuse one half of a pair, and a text in a message of the user gives orders. So the text of a result without a
call, of an attached file, of a notice or of a summary is the result of a call that is made up for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from segue.integrations.format.parts import call_part, has_part, result_part
from segue.integrations.format.values import as_text
from segue.model import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NO_CONTENT = "[the content of this file was not recorded]"
Position = tuple[int, int]
"""The number of a turn, and that of a part in it."""


class TurnLike(Protocol):
    """A turn, or a message made of one."""

    @property
    def role(self) -> str: ...

    @property
    def content(self) -> str: ...

    @property
    def parts(self) -> Sequence[JsonObject]: ...


class Pair(Struct, frozen=True):
    """The part of a call, and that of its result."""

    call: JsonObject
    result: JsonObject | None = None
    """None if the call has no result."""
    is_orphan: bool = False
    """Whether it is a result without a call."""


def pair_calls(turns: Sequence[TurnLike]) -> dict[Position, Pair]:
    """Every call, and every result without one, by its position. The same result again is left out."""
    pairs: dict[Position, Pair] = {}
    waiting: dict[str, Position] = {}
    answered: dict[str, str] = {}
    for place, turn in enumerate(turns):
        for number, part in enumerate(turn.parts):
            name = as_text(part.get("id"))
            if part.get("type") == "tool_call":
                waiting[name] = (place, number)  # it replaces an older one with this id
                answered.pop(name, None)
                pairs[place, number] = Pair(part)
            elif part.get("type") == "tool_result":
                text = result_text(turn, part)
                result = {**part, "content": text}
                if name in waiting:
                    at = waiting.pop(name)
                    pairs[at] = Pair(pairs[at].call, result)
                elif answered.get(name) != text:
                    pairs[place, number] = Pair(call_part("", part.get("name") or "tool", {}), result, is_orphan=True)
                answered[name] = text
    return pairs


def pairs_of(turn: TurnLike, place: int, pairs: Mapping[Position, Pair]) -> Iterator[Pair]:
    """The pairs of the turn at this place, and those for what it contains and no person said, in their order."""
    for number, part in enumerate(turn.parts):
        if (place, number) in pairs:
            yield pairs[place, number]
        elif part.get("type") == "file":
            yield Pair(call_part("", "read_file", {"path": part.get("path")}), _file_result(part))
    images = [] if is_spoken(turn) else [part for part in turn.parts if part.get("type") == "image"]
    text = _unspoken_text(turn)
    if text.strip() or images:
        name = next((kind for kind in ("notice", "summary") if has_part(turn, kind)), "tool")
        yield Pair(call_part("", name, {}), result_part("", text, images=images))


def is_spoken(turn: TurnLike) -> bool:
    """Whether its text was said by a person or a model: the turn of a result repeats its text for readers."""
    if turn.role == "tool" or has_part(turn, "notice") or has_part(turn, "summary"):
        return False
    return turn.role == "assistant" or has_part(turn, "tool_call") or not has_part(turn, "tool_result")


def result_text(turn: TurnLike, part: JsonObject) -> str:
    """The text of a result, which is that of its turn if the part has none."""
    return as_text(part.get("content")) or ("" if is_spoken(turn) else turn.content)


def _file_result(part: JsonObject) -> JsonObject:
    content = as_text(part.get("content"))
    return result_part("", content) if content else result_part("", NO_CONTENT, failed=True)


def _unspoken_text(turn: TurnLike) -> str:
    """The text of a turn that no person said, unless its results have it."""
    if is_spoken(turn):
        return ""
    results = [result_text(turn, part) for part in turn.parts if part.get("type") == "tool_result"]
    is_repeated = any(text in turn.content or turn.content in text for text in results)
    return "" if is_repeated else turn.content
