"""What a request tells of the conversation, whatever the protocol."""

from __future__ import annotations

import json
from typing import Literal, NamedTuple

Role = Literal["user", "assistant", "system", "call", "result"]


class Said(NamedTuple):
    role: Role
    text: str


def texts(content: object, *kinds: str) -> str:
    """The text of a message: as it is, or of its blocks of these kinds."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") in kinds)


def event(data: object, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def named(tools: object, *names: str) -> str:
    """The first of the names under which the tool offers its shell."""
    offered = [str(tool.get("name", "")) for tool in tools] if isinstance(tools, list) else []
    return next((name for name in names if name in offered), "")
