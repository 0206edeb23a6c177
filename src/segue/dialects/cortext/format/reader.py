"""Reads the session from both files, whichever program wrote them last, and reports every damage with its place."""

from __future__ import annotations

from itertools import count, pairwise
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from msgspec.structs import replace

from segue.dialects.cortext.format.document import (
    LAYOUT,
    LAYOUT_VERSION,
    CortextDocument,
    encode_entry,
    parse_entry,
    parse_gaps,
)
from segue.dialects.cortext.format.lines import MessageLine, decode_message
from segue.dialects.cortext.format.names import split_id
from segue.dialects.cortext.format.others import birth, edits
from segue.errors import Damage
from segue.formats.records import BadRecordError, encode_indented, parse_event
from segue.formats.sealed import read_sealed
from segue.formats.sealed.seal import is_sealed
from segue.model import EPOCH, MAIN, BranchCreated, BranchSwitched, Event, Metadata, Turn, fold, overview_of

if TYPE_CHECKING:
    from segue.dialects.cortext.format.document import Gap
    from segue.model import JsonObject, Session

HIDDEN, SESSION, MESSAGES = ".session", "session.json", "messages.jsonl"


class ParsedConversation(NamedTuple):
    """What can be read of a conversation, and what cannot."""

    document: CortextDocument | None
    """None if nothing can be read."""
    events: tuple[Event, ...]
    damages: tuple[Damage, ...]
    complete: int
    """The offset in messages.jsonl after the last complete append."""
    is_recorded: bool
    """Whether session.json contains all of this already."""
    is_whole: bool = False
    """Whether session.json contains the turns as well, since a recovery was cut short."""

    @property
    def session(self) -> Session | None:
        return fold(self.events) if self.document is not None else None


def read(session: bytes, messages: bytes, session_id: str) -> ParsedConversation:
    return _Assembly(session, messages, session_id).build()


def path_in_workspace(session_id: str, name: str) -> str:
    """The path of a file of a conversation, relative to the workspace."""
    return f"{'/'.join(('conversations', *split_id(session_id), HIDDEN))}/{name}"


class _Placed(NamedTuple):
    turn: Turn
    line: int


class _Assembly:
    def __init__(self, session: bytes, messages: bytes, session_id: str) -> None:
        self._session_id = session_id
        opened = read_sealed(LAYOUT, session, path_in_workspace(session_id, SESSION), needs="conversation_id")
        self._found: JsonObject = opened.found or {}
        self._damages = list(opened.damages)
        self._is_sealed = is_sealed(session)
        ours = self._found.get("segue")
        self._ours: JsonObject = ours if isinstance(ours, dict) else {}
        self._reached = _number(self._ours.get("seq"))
        self._accounted = _number(self._ours.get("bytes")) or 0
        self._is_whole = self._ours.get("whole") is True
        self._messages = messages
        self._complete = len(messages) if self._is_whole else 0
        self._events: dict[int, Event] = {}

    def build(self) -> ParsedConversation:
        self._take_entries()
        lines = [] if self._is_whole else self._lines()
        numbered = {one.turn.seq for one in lines}
        if not any(isinstance(event, Metadata) for event in self._events.values()):
            if not self._found and not lines and not self._events:
                return ParsedConversation(None, (), tuple(self._damages), self._complete, is_recorded=False)
            self._bear(lines, numbered)
        self._take_turns(lines, numbered)
        missing = self._gaps(lines)
        document = self._document(missing)
        known = len(self._events)
        if self._ours and not self._is_sealed and not self._damages:
            self._take_edits(document)
            document = self._document(missing)
        is_recorded = self._is_sealed and self._complete == self._accounted and known == len(self._events)
        events = tuple(self._events[seq] for seq in sorted(self._events))
        return ParsedConversation(
            document,
            events,
            tuple(self._damages),
            self._complete,
            is_recorded=is_recorded and not self._is_whole,
            is_whole=self._is_whole,
        )

    def _take_entries(self) -> None:
        entries = self._ours.get("events", [])
        if not isinstance(entries, list):
            self._damage(SESSION, "segue.events is no list")
            return
        for at, entry in enumerate(entries):
            try:
                if not isinstance(entry, dict):
                    raise BadRecordError("it is not an object")
                event = parse_entry(entry)
            except BadRecordError as error:
                self._damage(SESSION, f"event {at + 1} under segue: {error}")
                continue
            if isinstance(event, Metadata):
                event = replace(event, session_id=self._session_id)
            if event.seq in self._events:
                self._damage(SESSION, f"two events have the number {event.seq}")
            else:
                self._events[event.seq] = event

    def _lines(self) -> list[_Placed]:
        """Read the turns of every complete append."""
        taken: list[_Placed] = []
        pending: list[_Placed] = []
        offset, last = 0, self._messages.count(b"\n")
        for number, line in enumerate(self._messages.split(b"\n")):
            end = min(offset + len(line) + 1, len(self._messages))
            try:
                found = decode_message(line) if line.strip() else None
            except BadRecordError as error:
                if number == last and offset >= self._accounted:
                    break  # an append that never completed
                self._damage(MESSAGES, str(error), line=number + 1, offset=offset, size_bytes=len(line))
                found = None
            if found is not None:
                if self._is_ahead(found):
                    break
                pending.append(_Placed(found.turn, number + 1))
            if found is None or found.mark != "+":
                taken += pending
                pending = []
                self._complete = end
            offset = end
        if self._complete < self._accounted and not self._damages:
            lost = self._accounted - self._complete
            self._damage(MESSAGES, f"it ends {lost} bytes too early", offset=self._complete, size_bytes=lost)
            taken += pending
        return taken

    def _is_ahead(self, found: MessageLine) -> bool:
        """Whether the rest of its append never reached session.json."""
        return found.mark[:1] == "@" and self._reached is not None and int(found.mark[1:]) > self._reached

    def _bear(self, lines: list[_Placed], numbered: set[int]) -> None:
        """Read the events of a file without our key, with the first free numbers."""
        first = lines[0].turn.timestamp.isoformat() if lines else None
        free = (seq for seq in count(1) if seq not in numbered and seq not in self._events)
        records = birth(self._found, self._session_id, first)
        self._keep(next(records), next(free))
        if not any(isinstance(event, Metadata) for event in self._events.values()):  # the reason is among the damages
            seq = next(free)
            self._events[seq] = Metadata(
                session_id=self._session_id, agent="", created_at=EPOCH, status="paused", id="metadata", seq=seq
            )
        if not self._ours:
            for record in records:
                self._keep(record, next(free))

    def _take_turns(self, lines: list[_Placed], numbered: set[int]) -> None:
        """A line without a number gets the next free one there, or the first free one at all.

        It goes on in the branch that was the active one then.
        """
        switches = sorted((seq, name) for seq, event in self._events.items() if (name := _switched_to(event)))
        free = (seq for seq in count(1) if seq not in numbered and seq not in self._events)
        before = 0
        for turn, line in lines:
            if not turn.seq:
                seq = next(seq for seq in count(before + 1) if seq not in self._events)
                if seq in numbered:
                    seq = next(free)
                else:
                    before = seq
                branch = next((name for at, name in reversed(switches) if at < seq), MAIN)
                self._events[seq] = replace(turn, seq=seq, branch=branch, id=f"message-{seq}")
            elif turn.seq in self._events or turn.seq <= before:
                self._damage(MESSAGES, f"event {turn.seq} comes after event {max(before, turn.seq)}", line=line)
            else:
                self._events[turn.seq] = turn
                before = turn.seq

    def _gaps(self, lines: list[_Placed]) -> tuple[Gap, ...]:
        """Report numbers without events. What another program removed is gone; everything else is missing."""
        numbers = [0, *sorted(self._events), max([*self._events, self._reached or 0]) + 1]
        gaps = [(one + 1, other - 1) for one, other in pairwise(numbers) if other > one + 1]
        forgiven = parse_gaps(self._ours)
        lost = [gap for gap in gaps if not any(first <= gap[0] and gap[1] <= last for first, last in forgiven)]
        if lost and self._reached is not None and not self._damages:
            first, last = lost[0]
            line = next((one.line for one in lines if one.turn.seq > last), 0)
            which = f"event {first} is" if first == last else f"events {first} to {last} are"
            self._damage(MESSAGES, f"{which} missing{' before this line' if line else ''}", line=line)
        return tuple(gaps)

    def _take_edits(self, document: CortextDocument) -> None:
        last = document.overview.seq
        for seq, plain in enumerate(edits(self._found, document), start=last + 1):
            self._keep({**plain, "id": f"edited-{seq}-{crc32(encode_indented(plain)):08x}"}, seq)

    def _keep(self, plain: JsonObject, seq: int) -> None:
        try:
            self._events[seq] = parse_event(plain, seq)
        except BadRecordError as error:
            self._damage(SESSION, str(error))

    def _document(self, missing: tuple[Gap, ...]) -> CortextDocument:
        events = [self._events[seq] for seq in sorted(self._events)]
        others = tuple(event for event in events if not isinstance(event, Turn))
        models = [event.model for event in events if isinstance(event, Turn) and event.model]
        return CortextDocument(
            folder=split_id(self._session_id)[1],
            overview=overview_of(fold(events)),
            events=others,
            pieces=tuple(map(encode_entry, others)),
            size=self._complete,
            top={name: value for name, value in self._found.items() if name != "segue"},
            model=models[-1] if models else "",
            missing=missing,
            version=_number(self._ours.get("version")) or LAYOUT_VERSION,
        )

    def _damage(self, name: str, reason: str, *, line: int = 0, offset: int = 0, size_bytes: int = 0) -> None:
        place = path_in_workspace(self._session_id, name)
        where = f"{place} line {line}" if line else place
        self._damages.append(Damage(where, reason, line=line, offset=offset, size_bytes=size_bytes))


def _switched_to(event: Event) -> str:
    match event:
        case BranchSwitched():
            return event.branch
        case BranchCreated() if event.switch:
            return event.name
    return ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
