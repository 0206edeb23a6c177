"""Rows into events: every body is checked against its checksum and its columns, and every damage has its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import Damage
from segue.formats.journal import BadLineError, Checkpoint, decode_line, decode_plain
from segue.model import Metadata, Turn, apply, initial_overview
from segue.stores.postgres.text_columns import to_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from segue.model import Event, Head, Overview

Record = tuple[int, str, bytes]
"""The columns seq, id and body of an event."""


class Records:
    """Takes the events of a session page by page, in order."""

    def __init__(self, session_id: str, *, after: int = 0) -> None:
        self.session_id = session_id
        self.seq = after
        """The number of the last row so far."""
        self.damages: list[Damage] = []

    def feed(self, rows: Sequence[Record]) -> list[Event]:
        """The events that can be read; `damages` gets a place for each one that cannot."""
        if not rows:
            return []
        events = _usual_events(rows, self.seq)
        if events is not None:
            self.seq = rows[-1][0]
            return events
        return [event for row in rows if (event := self._take(row)) is not None]

    def finish(self, upto: int) -> None:
        """Compare with the number of the last event that was recorded."""
        self._check_gap(upto + 1)

    def _take(self, row: Record) -> Event | None:
        seq = row[0]
        self._check_gap(seq)
        self.seq = seq
        found = read_event(row)
        if isinstance(found, Damage):
            self.damages.append(found)
            return None
        return found

    def _check_gap(self, seq: int) -> None:
        if seq > self.seq + 1:
            missing = f"event {seq - 1} is" if seq == self.seq + 2 else f"events {self.seq + 1} to {seq - 1} are"
            self.damages.append(Damage(f"event {self.seq + 1}", f"{missing} missing", line=self.seq + 1))


def _usual_events(rows: Sequence[Record], after: int) -> list[Event] | None:
    """All events at once, if they follow each other and nothing about them is unusual; else None."""
    plain = decode_plain(b"".join([body for *_, body in rows]), after, ends_midway=True)
    if plain is None or not plain.lines == len(rows) == len(plain.events):
        return None
    columns = [(seq, id) for seq, id, _ in rows]
    return plain.events if columns == [(event.seq, event.id) for event in plain.events] else None


def read_event(row: Record) -> Event | Damage:
    seq, id, body = row
    try:
        if not body.endswith(b"\n"):
            raise BadLineError("its end is missing")
        record, is_numbered, _ = decode_line(body[:-1])
        if isinstance(record, Checkpoint) or not is_numbered:
            raise BadLineError("it is not an event of a session")
        if (record.seq, to_column(record.id)) != (seq, id):
            raise BadLineError(f"its columns belong to another event than its body, which is event {record.seq}")
    except BadLineError as error:
        return Damage(f"event {seq}", str(error), line=seq, size_bytes=len(body))
    return record


def read_checkpoint(body: bytes, session_id: str) -> Overview | None:
    """The overview of a checkpoint that can be trusted; else None."""
    try:
        record = decode_line(body.removesuffix(b"\n")).record
    except BadLineError:
        return None
    if not isinstance(record, Checkpoint):
        return None
    return record.overview if record.overview.id == session_id else replace(record.overview, id=session_id)


class Sizes(NamedTuple):
    """The bytes at the end of a session."""

    checkpoint: int = 0
    events: int = 0
    """Of the events after the checkpoint."""
    event_count: int = 0
    """How many events these are."""


class End(NamedTuple):
    """What the end of a session says."""

    overview: Overview | None
    """None if it cannot be trusted: `damages` has the reasons, or the whole session must be read to find them."""
    damages: list[Damage]
    sizes: Sizes = Sizes()


def read_end(session_id: str, seq: int, rows: Iterable[tuple[int, str | None, bytes]]) -> End:
    """The overview from the rows of `Statements.end`: the checkpoint, if there is one, and events."""
    overview: Overview | None = None
    records: list[Record] = []
    checkpoint_size = 0
    for number, id, body in rows:
        if id is None:
            checkpoint_size = len(body)
            overview = read_checkpoint(body, session_id)
            if overview is None or overview.seq != number:
                return End(None, [])
        else:
            records.append((number, id, body))
    known = overview.seq if overview is not None else 0
    checked = [row for row in records if row[0] <= known]
    damages = [found for row in checked if isinstance(found := read_event(row), Damage)]
    if len(checked) != len({number for number in (1, seq) if 1 <= number <= known}):
        return End(None, damages)
    later = Records(session_id, after=known)
    events = later.feed(records[len(checked) :])
    later.finish(seq)
    damages += later.damages
    if overview is None and not damages:
        first = events[0] if events else None
        if not isinstance(first, Metadata):
            return End(None, [Damage("event 1", "the session does not begin with its metadata", line=1)])
        overview, events = initial_overview(named(first, session_id)), events[1:]
    if damages or overview is None:
        return End(None, damages)
    sizes = [len(body) for *_, body in records[len(checked) :]]
    return End(apply(overview, *events), [], Sizes(checkpoint_size, sum(sizes), len(sizes)))


def named(metadata: Metadata, session_id: str) -> Metadata:
    """The row has the name of the session: a copy of rows is a session of its own."""
    return metadata if metadata.session_id == session_id else replace(metadata, session_id=session_id)


def with_metadata(
    events: list[Event], damages: list[Damage], session_id: str, *, version: int, head: Callable[[str], Head]
) -> list[Event]:
    """The events with the metadata first, rebuilt from the row of the session where it was lost."""
    first = events[0] if events else None
    if isinstance(first, Metadata):
        return [named(first, session_id), *events[1:]]
    if not damages:
        damages.append(Damage("event 1", "the session does not begin with its metadata", line=1))
    known = head(session_id)
    lost = Metadata(
        session_id=session_id,
        agent=known.agent,
        created_at=known.created_at,
        status="active",
        version=version,
        id="event-1",
        seq=1,
    )
    return [lost, *events]


def turns_of(rows: Sequence[Record], damages: list[Damage]) -> list[Turn]:
    events = _usual_events(rows, rows[0][0] - 1) if rows else []
    if events is not None and all(isinstance(event, Turn) for event in events):
        return events  # type: ignore[return-value]
    found: list[Turn] = []
    for row in rows:
        event = read_event(row)
        if isinstance(event, Damage):
            damages.append(event)
        elif isinstance(event, Turn):
            found.append(event)
        else:
            damages.append(Damage(f"event {row[0]}", "only its column is that of a turn", line=row[0]))
    return found
