"""What passes between a model that wants something done and whoever does it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from segue.model import JsonObject

Status = Literal["done", "failed", "refused", "interrupted", "unknown"]


class ToolSpec(Struct, frozen=True, kw_only=True):
    """What a model is told of an ability."""

    name: str
    description: str
    parameters: JsonObject
    """A JSON Schema of its arguments."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """What a model wants done."""

    id: str
    name: str
    arguments: JsonObject
    signature: str = ""
    """What the provider wants to see again with this call; opaque."""


class ToolResult(Struct, frozen=True, kw_only=True):
    """What came of a call, as the model is told."""

    content: str
    status: Status = "done"


INTERRUPTED = ToolResult(status="interrupted", content="interrupted: the user stopped it, and it may be half done")
NOT_BEGUN = ToolResult(status="interrupted", content="interrupted: the user stopped before it began")
CUT_OFF = ToolResult(status="unknown", content="unknown: it was cut off")


class ToolFailedError(Exception):
    """A call that was begun and came to nothing: the text is what the model is told."""


def refused(why: str) -> ToolResult:
    return ToolResult(status="refused", content=f"refused: {why}")
