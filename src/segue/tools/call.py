"""The values that pass between a model and its tools."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from segue.model import JsonObject

ToolStatus = Literal["done", "failed", "refused", "interrupted", "unknown"]


class ToolSpec(Struct, frozen=True, kw_only=True):
    """The description of a tool that is sent to the model."""

    name: str
    description: str
    parameters: JsonObject
    """A JSON Schema of the arguments."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """A request of the model to run a tool."""

    id: str
    name: str
    arguments: JsonObject
    signature: str = ""
    """An opaque value that the provider expects back with this call."""


class ToolResult(Struct, frozen=True, kw_only=True):
    """The result of a call, as it is sent to the model."""

    content: str
    status: ToolStatus = "done"


INTERRUPTED = ToolResult(status="interrupted", content="interrupted: the user stopped it; it may be half done")
NOT_STARTED = ToolResult(status="interrupted", content="interrupted: the user stopped before it started")
RESULT_UNKNOWN = ToolResult(
    status="unknown",
    content="unknown: Segue stopped before the result was recorded; it may or may not have run",
)


class ToolFailedError(Exception):
    """A call that failed; the text is sent to the model."""


def refused(why: str) -> ToolResult:
    return ToolResult(status="refused", content=f"refused: {why}")
