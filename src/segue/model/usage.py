"""What the answers of a session used: tokens and cost, as far as they were recorded with the turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.model.events import JsonObject, Turn

_MOST_TOKENS = 1 << 50
_MOST_USD = 1e12


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers are those of one answer, or the totals of several."""

    input_tokens: int = 0
    """With those that were cached."""
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    def __bool__(self) -> bool:
        return self != NO_USAGE

    def as_json(self) -> JsonObject:
        """The fields that are known, under the names with which they are recorded."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name))}


NO_USAGE = Usage()


def usage_of_turn(turn: Turn) -> Usage:
    """What the turn used; fields that are not numbers are ignored, since a file may contain anything."""
    recorded = turn.extra.get("usage") if turn.extra else None
    return parse_usage(recorded) if recorded else NO_USAGE


def parse_usage(recorded: object) -> Usage:
    if not isinstance(recorded, dict):
        return NO_USAGE
    counts = {name: _count(recorded.get(name)) for name in Usage.__struct_fields__ if name != "cost_usd"}
    cost = recorded.get("cost_usd")
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 < cost < _MOST_USD
    return Usage(**counts, cost_usd=float(cost) if is_cost and cost is not None else 0.0)


def total_usage(turns: Iterable[Turn]) -> Usage:
    total = NO_USAGE
    for turn in turns:
        if turn.extra and (used := usage_of_turn(turn)):
            total += used
    return total


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST_TOKENS else 0
