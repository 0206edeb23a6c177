"""Turns from the history of aider: `####` marks the user, `>` marks aider itself, all else is the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.parts import usage_of
from segue.integrations.format.transcript import TranscriptTurn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_STARTED = re.compile(rb"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MODEL = re.compile(r"> (?:Main m|M)odel: (\S+)")
_TOKENS = re.compile(
    r"> Tokens: ([\d.,]{1,20}k?) sent(?:, ([\d.,]{1,20}k?) cache write)?(?:, ([\d.,]{1,20}k?) cache hit)?"
    r", ([\d.,]{1,20}k?) received\.?(?: Cost: \$([\d.]{1,20}) message)?"
)
_USER, _AIDER, _END = "#### ", "> ", "  "


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
    model, message, speakers = "", _Message(), _Speakers(lines)
    for place, data, _ in lines:
        if data is None:
            builder.damage("it is too long to read", at=place)
            continue
        text = data.decode("utf-8", "replace")
        if "\ufffd" in text:
            builder.damage("it is not UTF-8", at=place)
        role = speakers.role_of(text)
        if role == "aider":
            if found := _MODEL.match(text):
                model = found[1]
            if message.role == "assistant" and (counted := _TOKENS.match(text)):
                message.usage = _usage(counted)
            continue
        if role != message.role:
            yield from message.close(builder, started, model)
            message = _Message(role, place)
        message.add(text, place)
    yield from message.close(builder, started, model)


class _Speakers:
    """Who said each line. Lines of the user and of aider itself end with two spaces, unlike those of a model.

    So a heading or a quotation in an answer is the model's. A text of aider with several lines is marked in the first
    of them, and ends in the last. If an editor has removed the spaces at the ends of lines, the marks alone count.
    """

    def __init__(self, lines: Lines) -> None:
        marks = (_USER.encode(), _AIDER.encode())
        self._has_ends = any(data and data.startswith(marks) and data.endswith(_END.encode()) for _, data, _ in lines)
        self._role = ""
        self._is_answered = False
        """Whether aider has counted the tokens of the answer, so that it speaks itself."""
        self._is_inside = False
        """Whether a text of aider continues."""

    def role_of(self, line: str) -> str:
        ends = line.endswith(_END) or not self._has_ends
        if line.startswith(_USER) and ends:
            self._role, self._is_answered, self._is_inside = "user", False, False
        elif self._is_inside or (line.startswith(_AIDER) and (ends or self._is_answered or not self._role)):
            self._is_inside = not ends
            self._is_answered = self._is_answered or _TOKENS.match(line) is not None
            return "aider"
        elif self._role:
            self._role, self._is_answered = "assistant", False
        return self._role


class _Message:
    """Consecutive lines of one role. Lines before the first message of the user have none."""

    def __init__(self, role: str = "", place: LinePlace | None = None) -> None:
        self.role = role
        self.usage: JsonObject = {}
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
            tokens=self.usage.get("output_tokens"),
            model=model if is_answer else "",
            usage=self.usage,
        )


def _usage(counted: re.Match[str]) -> JsonObject:
    """The numbers as aider rounds them."""
    sent, written, cached, received, cost = counted.groups()
    return usage_of(
        input=_count(sent),
        cached=_count(cached),
        cache_written=_count(written),
        output=_count(received),
        cost_usd=_number(cost),
    )


def _count(text: str | None) -> int | None:
    number = _number(text.removesuffix("k")) if text else None
    return None if text is None or number is None else round(number * (1000 if text.endswith("k") else 1))


def _number(text: str | None) -> float | None:
    try:
        return float(text.replace(",", "")) if text else None
    except ValueError:
        return None
