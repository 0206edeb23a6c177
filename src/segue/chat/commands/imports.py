"""Turns from a file that /export or `segue export` wrote: JSON lines, a JSON document, or Markdown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from segue.errors import UsageError
from segue.formats.transcript import BadTurnError, decode_turn, read_markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.model import Turn

Record = tuple[str, bytes]
"""Where it stands, and what it says."""


def turns_of(data: bytes, name: str, *, now: datetime, branch: str, new_id: Callable[[], str]) -> list[Turn]:
    """Every turn of the file, or a UsageError that names the first thing in it that is none."""
    turns: list[Turn] = []
    for where, record in _records(data, name):
        try:
            turns.append(decode_turn(record, now=now, branch=branch, id=new_id()))
        except BadTurnError as error:
            raise UsageError(
                f"{where} of {name}: {error}; nothing was recorded", hint="correct it, and try again"
            ) from None
    return turns


def _records(data: bytes, name: str) -> list[Record]:
    if name.lower().endswith((".md", ".markdown")):
        return _markdown_records(data, name)
    lines = [(f"line {number}", line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    if not name.lower().endswith(".json") and not data.lstrip().startswith(b"[") and len(lines) != 1:
        return lines
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return lines  # whose first bad one will be named
    turns = _turns(found)
    if turns is None:
        return lines
    return [(f"turn {number}", json.dumps(turn).encode()) for number, turn in enumerate(turns, start=1)]


def _markdown_records(data: bytes, name: str) -> list[Record]:
    try:
        turns = read_markdown(data.decode("utf-8"))
    except (BadTurnError, ValueError, RecursionError) as error:
        reason = error if isinstance(error, BadTurnError) else "it is not as it was exported"
        raise UsageError(f"{name}: {reason}", hint="/export jsonl writes what every version reads") from None
    return [(f"turn {number}", json.dumps(turn).encode()) for number, turn in enumerate(turns, start=1)]


def _turns(found: object) -> list[object] | None:
    match found:
        case list():
            return found
        case {"turns": list(turns)}:
            return turns
        case {"own_turns": dict(own), "branches": dict(branches), "branch": str(branch)}:
            return _path(own, branches, branch)
    return None


def _path(own: dict[str, object], branches: dict[str, object], name: str) -> list[object]:
    """The active branch of a whole session, through every branch it grew from."""
    path: list[object] = []
    upto: int | None = None
    while name:
        turns, about = own.get(name), branches.pop(name, None)  # popped: a circle ends
        at, parent = 0, ""
        if isinstance(about, dict):
            at = about["at"] if isinstance(about.get("at"), int) else 0
            parent = about["parent"] if isinstance(about.get("parent"), str) else ""
        piece = turns if isinstance(turns, list) else []
        path = [*(piece if upto is None else piece[: max(0, upto - at)]), *path]
        upto = at if upto is None else min(upto, at)
        name = parent
    return path
