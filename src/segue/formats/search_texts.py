"""What can be found of a session: its title and summary, and of its events the turns, decisions and learnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.model import Decision, Learning, Pattern, Turn
from segue.queries import IndexedText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import Event
    from segue.queries import Kind


def overview_texts(title: str, summary: str) -> Iterator[IndexedText]:
    if title:
        yield IndexedText(kind="title", text=title)
    if summary:
        yield IndexedText(kind="summary", text=summary)


def event_texts(event: Event, number: int = 0) -> Iterator[IndexedText]:
    """The texts of an event; of a turn with its number on its branch."""
    match event:
        case Turn():
            yield from turn_texts(event, seq=event.seq, number=number, branch=event.branch)
        case Decision():
            yield IndexedText(kind="decision", text=event.content, seq=event.seq)
        case Learning():
            yield IndexedText(kind="learning", text=event.description, seq=event.seq)
        case Pattern():
            yield IndexedText(kind="learning", text=f"{event.name}: {event.description}", seq=event.seq)


def turn_texts(turn: Turn, *, seq: int, number: int, branch: str) -> Iterator[IndexedText]:
    """The text of a turn, the arguments of its calls, and results that its text does not contain."""
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
