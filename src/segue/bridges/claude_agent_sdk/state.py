"""What an append needs to know of those before it, in the one named record that each of them ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from segue.bridges.sessions import new_record
from segue.errors import Damage, DamagedError
from segue.integrations.format.transcript import LONGEST_TITLE
from segue.model import Count, JsonObject

if TYPE_CHECKING:
    from segue.model import Overview, Record

STATE = "transcript"
"""The name of the record, and its kind."""


class Titles(Struct):
    """What the transcript is called, the best first."""

    custom: str = ""
    ai: str = ""
    summary: str = ""
    first_words: str = ""

    @property
    def best(self) -> str:
        text = " ".join((self.custom or self.ai or self.summary or self.first_words).split())
        return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"


class Answer(Struct):
    """An answer whose entries may continue in the next append, and what it used so far."""

    id: str = ""
    usage: dict[str, int | float] = {}


class State(Struct):
    count: Count = 0
    """How many entries there are."""
    mtime: Count = 0
    """When the last of them was stored, in milliseconds: the order of the appends."""
    summary: JsonObject = {}
    """What the SDK makes of the entries of a session for its listings; empty for a subagent."""
    titles: Titles = field(default_factory=Titles)
    answer: Answer = field(default_factory=Answer)

    @classmethod
    def of(cls, overview: Overview) -> State:
        """The state after the last append. DamagedError if it cannot be read."""
        record = overview.records.get(STATE)
        try:
            return msgspec.convert(record.data, cls) if record is not None else cls()
        except (msgspec.ValidationError, UnicodeEncodeError) as error:  # or half a character
            raise DamagedError(overview.id, [Damage(f"record {STATE!r}", str(error))]) from None

    def record(self) -> Record:
        data: JsonObject = msgspec.to_builtins(self)
        return new_record(STATE, data, name=STATE)
