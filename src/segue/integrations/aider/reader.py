"""Turns from the history of aider: `####` marks the user, `>` marks aider itself, all else is the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.transcript import TranscriptTurn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import Turn

_STARTED = re.compile(rb"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MODEL = re.compile(r"> (?:Main m|M)odel: (\S+)")
_TOKENS = re.compile(r"> Tokens: .{0,200}?([\d.,]{1,20})(k?) received")
_USER, _AIDER = "#### ", "> "


class AiderRun(NamedTuple):
    """One start of aider."""

    started: str
    """In the local time of the machine."""
    offset: int
    end: int


def find_runs(lines: Lines) -> Iterator[AiderRun]:
    """The position of every run in the file."""
    begun: tuple[str, int] | None = None
    end = 0
    for place, data, _ in lines:
        found = _STARTED.fullmatch(data) if data else None
        if found:
            if begun:
                yield AiderRun(*begun, place.offset)
            begun = (found[1].decode(), place.offset)
        end = place.offset + place.size + 1
    if begun:
        yield AiderRun(*begun, end)


def parse_turns(lines: Lines, builder: TranscriptBuilder, started: datetime) -> Iterator[TranscriptTurn]:
    """The turns of one run. They have no times of their own."""
    model, message = "", _Message()
    for place, data, _ in lines:
        if data is None:
            builder.damage("it is too long to read", at=place)
            continue
        text = data.decode("utf-8", "replace")
        if "\ufffd" in text:
            builder.damage("it is not UTF-8", at=place)
        if found := _MODEL.match(text):
            model = found[1]
        if text.startswith(_AIDER):
            if message.role == "assistant" and (counted := _TOKENS.match(text)):
                message.tokens = _count(counted[1], counted[2])
            continue
        role = "user" if text.startswith(_USER) else "assistant" if message.role else ""
        if role != message.role:
            yield from message.close(builder, started, model)
            message = _Message(role, place)
        message.add(text, place)
    yield from message.close(builder, started, model)


class _Message:
    """Consecutive lines of one role. Lines before the first message of the user have none."""

    def __init__(self, role: str = "", place: LinePlace | None = None) -> None:
        self.role = role
        self.tokens: int | None = None
        self._place = place
        self._lines: list[str] = []
        self._next = place.number if place else 0

    def add(self, line: str, place: LinePlace) -> None:
        self._lines += [""] * (place.number - self._next) if self.role == "assistant" else []  # blank lines
        self._next = place.number + 1
        self._lines.append(line)

    def close(self, builder: TranscriptBuilder, started: datetime, model: str) -> Iterator[TranscriptTurn]:
        if not self.role or self._place is None:
            return
        turn = self._turn(builder, started, model, self._place)
        yield TranscriptTurn(turn, builder.tip)
        builder.tip = turn.id

    def _turn(self, builder: TranscriptBuilder, started: datetime, model: str, place: LinePlace) -> Turn:
        is_answer = self.role == "assistant"
        text = "\n".join(line if is_answer else line.removeprefix(_USER).rstrip() for line in self._lines)
        return builder.turn(
            f"{builder.native_id}:{place.number}",
            self.role,
            text.strip(),
            started,
            records=[{"markdown": "\n".join(self._lines)}],
            tokens=self.tokens,
            model=model if is_answer else "",
        )


def _count(number: str, thousands: str) -> int | None:
    try:
        return int(float(number.replace(",", "")) * (1000 if thousands else 1))
    except (ValueError, OverflowError):
        return None
