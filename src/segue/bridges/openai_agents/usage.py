"""What runs have used, as the SDK counts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segue.bridges.openai_agents.history import Cost
from segue.integrations.format.parts import usage_of
from segue.integrations.format.values import as_count

if TYPE_CHECKING:
    from agents import RunContextWrapper, Usage

    from segue.model import JsonObject

_SEEN = "_segue_requests"
"""On the context of a run: how many of its requests were counted so far."""


def cost_since(wrapper: RunContextWrapper[Any] | None) -> Cost | None:
    """What the requests of a run have used since the last call with its context."""
    entries = list(getattr(getattr(wrapper, "usage", None), "request_usage_entries", None) or ())
    seen = getattr(wrapper, _SEEN, None)
    if wrapper is None or seen == len(entries):
        return None
    setattr(wrapper, _SEEN, len(entries))
    if seen is None or seen > len(entries):  # of the run before it was suspended
        return None
    new = entries[seen:]

    def total(name: str, details: str = "") -> int:
        holders = [getattr(entry, details, None) if details else entry for entry in new]
        return sum(as_count(getattr(holder, name, 0)) or 0 for holder in holders)

    return Cost(
        tokens=total("output_tokens"),
        usage=usage_of(
            input=total("input_tokens"),
            cached=total("cached_tokens", "input_tokens_details") or None,
            cache_written=total("cache_write_tokens", "input_tokens_details") or None,
            output=total("output_tokens"),
            reasoning=total("reasoning_tokens", "output_tokens_details") or None,
        ),
    )


def stored_usage(usage: Usage) -> JsonObject:
    """The usage of a run as JSON."""
    found: JsonObject = {
        name: as_count(getattr(usage, name, 0)) or 0
        for name in ("requests", "input_tokens", "output_tokens", "total_tokens")
    }
    for name in ("input_tokens_details", "output_tokens_details"):
        details = getattr(usage, name, None)
        if details:
            found[name] = {key: value for key, value in vars(details).items() if value is not None}
    return found
