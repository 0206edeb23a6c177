"""What can be found of a turn: its text, the arguments of its calls, and results that its text does not contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.index.source import IndexedText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.index.source import Kind
    from segue.model import Turn


def turn_texts(turn: Turn, *, seq: int, number: int, branch: str) -> Iterator[IndexedText]:
    if turn.content:
        yield IndexedText(kind="turn", text=turn.content, seq=seq, turn=number, branch=branch, role=turn.role)
    for part in turn.parts:
        kind, role = part.get("type"), turn.role
        if kind == "tool_call":
            text, name = "\n".join(_words(part.get("arguments"))), part.get("name")
            role = name if isinstance(name, str) else ""
        elif kind in {"tool_result", "file"}:
            text = "\n".join(_words([part.get("path"), part.get("content")]))
            text = "" if text in turn.content else text
        else:
            continue
        if text:
            found: Kind = "call" if kind == "tool_call" else "turn"
            yield IndexedText(kind=found, text=text, seq=seq, turn=number, branch=branch, role=role)


def _words(value: object) -> Iterator[str]:
    """The texts and numbers in a JSON value, without the names of its fields."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case bool() | None:
                pass
            case int() | float() as number:
                yield str(number)
            case dict() as fields:
                waiting += reversed(fields.values())
            case list() | tuple() as items:
                waiting += reversed(items)
