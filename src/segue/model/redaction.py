"""Turns whose text was withdrawn after they were recorded, by a guardrail for example.

Recorded events never change, so the text stays in the history of the session. A named record hides it: searches do not
find it, and where turns are shown, a note takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.model.events import Record, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from segue.model.events import Event
    from segue.model.session import Overview

_KIND = "segue.redaction"
_NOTE = "[redacted]"


def redaction_id(seq: int) -> str:
    """The id of the record that hides the turn with this number."""
    return f"redacts-{seq}"


def new_redaction(turn: Turn, timestamp: datetime) -> Record:
    """A record that hides the turn. A second one for the same turn is not recorded again."""
    id = redaction_id(turn.seq)
    return Record(kind=_KIND, data={"seq": turn.seq}, name=id, id=id, timestamp=timestamp)


def is_redaction(event: Event) -> bool:
    return isinstance(event, Record) and event.kind == _KIND


def redacted_seqs(overview: Overview) -> set[object]:
    """The numbers of the turns that are hidden."""
    return {record.data.get("seq") for record in overview.records.values() if is_redaction(record)}


def hide_redacted(overview: Overview, turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns as they may be shown."""
    hidden = redacted_seqs(overview)
    for turn in turns:
        yield replace(turn, content=_NOTE, parts=(), native=None) if turn.seq in hidden else turn
