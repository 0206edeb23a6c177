r"""The journal: one JSON object per line, split at the byte \n and nowhere else.

    {"type":"turn","role":"user","content":"…","timestamp":"…","tokens":null,"id":"…","seq":7,"sum":"1a2b3c4d"}

`sum` is always the last field: the CRC-32 of every byte before `,"sum"`. A `+` after it means that the append
continues in the next line. A line has both `seq` and `sum`, and they are right, or it has neither and comes from
another writer. Checkpoints are lines too: the session without its turns, as of their `seq`, so that no reader has to
start from the beginning.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from segue.formats.records import (
    FIELD_NAMES,
    BadRecordError,
    convert_to,
    encode_compact,
    may_hold_invalid_time,
    parse_event,
    parse_json,
)
from segue.model import (
    EPOCH,
    EVENT_TYPES,
    ROLES,
    Count,
    Event,
    Head,
    JsonObject,
    Overview,
    Turn,
    Unknown,
    content_of,
    head_of,
    is_moment,
)
from segue.model.events import EXTRA, KnownEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

CHECKPOINT = b'{"type":"checkpoint",'
CONTINUED = b'+"}\n'
"""The end of a line whose append continues in the next one."""
_HEAD = CHECKPOINT + b'"head":'
FOREIGN = "foreign"
"""The type of an event that another program wrote with one of our type names and another meaning."""

_SUM = re.compile(rb',"sum":"([0-9a-f]{8})(\+?)"\}')
_SUM_SIZE = len(b',"sum":"00000000"}')


class Checkpoint(Struct, frozen=True, kw_only=True, tag="checkpoint"):
    """The session without its turns, as it is after the event `seq`.

    A `head` before it repeats what a listing needs, so that a listing decodes nothing else.
    """

    overview: Overview
    seq: Count

    def __post_init__(self) -> None:
        """Refuse an overview that no events could have produced: it is not checked again later."""
        if (reason := _incoherence(self.overview)) is not None:
            raise ValueError(reason)


BadLineError = BadRecordError
"""A line that cannot be trusted, and why."""


class JournalLine(NamedTuple):
    record: Event | Checkpoint
    numbered: bool
    """Whether it has its own seq; a line of another writer gets the next one."""
    continues: bool
    """Whether its append continues in the next line."""


_head_decoder = msgspec.json.Decoder(Head)
_object_decoder: msgspec.json.Decoder[JsonObject] = msgspec.json.Decoder(dict[str, Any])
_overview_decoder = msgspec.json.Decoder(Overview)
_record_decoder: msgspec.json.Decoder[KnownEvent | Checkpoint] = msgspec.json.Decoder(KnownEvent | Checkpoint)


def encode_event(event: Event, *, continues: bool = False) -> bytes:
    """The line of an event that has its seq, newline included."""
    return _finish(_body(event), b"+" if continues else b"")


def encode_append(events: Sequence[Event]) -> bytes:
    """The lines of one append: all of them count, or none."""
    last = len(events) - 1
    return b"".join([encode_event(event, continues=at < last) for at, event in enumerate(events)])


def encode_checkpoint(overview: Overview) -> bytes:
    plain = {"type": "checkpoint", "head": head_of(overview), "overview": overview, "seq": overview.seq}
    return _finish(_encode(plain))


def encode_overview(overview: Overview) -> bytes:
    """An overview alone, for `decode_overview`."""
    return encode_compact(overview)


def decode_overview(data: bytes) -> Overview | None:
    """A new overview from its bytes; None if it contains what only the tolerant way can decode."""
    try:
        return _overview_decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def fingerprint(event: Event) -> int:
    """Equal for events with the same content, independent of their number and time."""
    return crc32(_body(content_of(event)))


def decode_line(line: bytes) -> JournalLine:
    """Decode one line without its newline. Raises BadLineError with the reason."""
    ending = _SUM.fullmatch(line, max(0, len(line) - _SUM_SIZE - 1)) or _SUM.fullmatch(
        line, max(0, len(line) - _SUM_SIZE)
    )
    if ending is None:
        return JournalLine(_decode_foreign(line), numbered=False, continues=False)
    body = line[: ending.start()]
    if crc32(body) != int(ending[1], 16):
        raise BadLineError("the checksum does not match: some of its bytes changed")
    record = _decode_record(body + b"}")
    if record.seq < 1:
        raise BadLineError("it has a checksum but no number")
    return JournalLine(record, numbered=True, continues=ending[2] == b"+")


class Plain(NamedTuple):
    """Lines that were all as we write them."""

    events: list[Event]
    checkpoint: Checkpoint | None
    """The last checkpoint among them."""
    lines: int


def decode_plain(data: bytes, seq: int | None, *, ends_midway: bool = False) -> Plain | None:
    """Decode many whole lines at once if all are plain: numbered on from `seq`, and of whole appends; else None.

    Without a `seq` the first line may have any number. With `ends_midway` the last append may continue elsewhere. This
    is `decode_line` for the ordinary case, several times as fast; the caller uses `decode_line` for everything else.
    """
    if may_hold_invalid_time(data):
        return None
    lines = data.split(b"\n")
    if lines.pop():
        return None
    bodies = [line[:-_SUM_SIZE] for line in lines]
    endings = [b',"sum":"%08x"}' % total for total in map(crc32, bodies)]
    if [line[-_SUM_SIZE:] for line in lines] != endings:
        bodies = _bodies_of_appends(lines, ends_midway=ends_midway)
    if not bodies:
        return None
    records = _decode_records(b"}\n".join([*bodies, b""]))
    if len(records) != len(lines) or not records:
        return None
    if seq is None:
        seq = records[0].seq - (type(records[0]) is not Checkpoint)
    events: list[Event] = []
    checkpoint = None
    for record in records:
        if isinstance(record, Checkpoint):
            checkpoint = record
        else:
            seq += 1
            events.append(record)
        if record.seq != seq:
            return None
    return Plain(events, checkpoint, len(lines))


def _decode_records(lines: bytes) -> Sequence[KnownEvent | Checkpoint]:
    """The records of known types, with their own fields if they have any; none if there is anything else."""
    try:
        return _record_decoder.decode_lines(lines)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return [_convert_record(plain) for plain in _object_decoder.decode_lines(lines)]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ()


def _convert_record(plain: JsonObject) -> KnownEvent | Checkpoint:
    """A record with its own fields, which programs add to an event. Raises as `msgspec.convert` does."""
    known = EVENT_TYPES.get(str(plain.get("type")))
    if known is None:
        return msgspec.convert(plain, Checkpoint)
    if own := plain.keys() - FIELD_NAMES[known]:
        own.discard("type")
        plain[EXTRA] = {name: plain.pop(name) for name in list(plain) if name in own}
    return msgspec.convert(plain, known)


def _bodies_of_appends(lines: Sequence[bytes], *, ends_midway: bool) -> list[bytes]:
    """What is before the sums, if all of them are right and every append is whole; else nothing."""
    marks = [line[-3:-2] == b"+" for line in lines]
    if marks[-1] and not ends_midway:
        return []
    bodies = [line[: -_SUM_SIZE - mark] for line, mark in zip(lines, marks, strict=True)]
    for line, body, mark, earlier in zip(lines, bodies, marks, [False, *marks], strict=False):
        if line[len(body) :] != b',"sum":"%08x%b"}' % (crc32(body), b"+" if mark else b""):
            return []
        if earlier and line.startswith(CHECKPOINT):
            return []
    return bodies


def read_checkpoint_head(line: bytes) -> Head | None:
    """The head in a checkpoint line, if the line is undamaged and as this version writes it; else None."""
    end = line.find(b',"overview":')
    if not line.startswith(_HEAD) or may_hold_invalid_time(line):
        return None
    if line[-_SUM_SIZE:] != b',"sum":"%08x"}' % crc32(line[:-_SUM_SIZE]):
        return None
    try:
        return _head_decoder.decode(line[len(_HEAD) : end])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _body(event: Event) -> bytes:
    """The object without its sum and its closing brace."""
    if isinstance(event, Unknown):
        return _encode({"type": event.type, **event.data, "id": event.id, "seq": event.seq})
    if event.extra:
        known = msgspec.to_builtins(replace(event, seq=0, extra={}), builtin_types=(datetime,))
        return _encode({**known, **event.extra, "seq": event.seq})
    return _encode(event)


def _encode(plain: object) -> bytes:
    return encode_compact(plain)[:-1]


def _finish(body: bytes, mark: bytes = b"") -> bytes:
    return b'%b,"sum":"%08x%b"}\n' % (body, crc32(body), mark)


def _decode_record(text: bytes) -> Event | Checkpoint:
    if not may_hold_invalid_time(text):
        try:
            return _record_decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
    return _decode_object(_object(text))


def _decode_foreign(line: bytes) -> Event:
    """Decode a line of another writer. What we cannot interpret is stored unchanged.

    The text of a message is shown, whatever else the line contains.
    """
    plain = _object(line)
    if "seq" in plain or "sum" in plain:  # our lines have both, and one changed byte breaks only one of them
        raise BadLineError("its number or its checksum is missing or broken")
    try:
        record = _decode_object(dict(plain))
    except BadLineError:
        record = None
    if record is not None and not isinstance(record, Checkpoint):
        return record
    role, content = plain.get("role"), plain.get("content")
    if plain.get("type") == "turn" and role in ROLES and isinstance(role, str) and isinstance(content, str):
        return Turn(role=role, content=content, timestamp=EPOCH, tokens=None, native=plain, id="")
    return Unknown(type=FOREIGN, data={"record": plain}, id="")


def _object(text: bytes) -> JsonObject:
    plain = parse_json(text)
    if not isinstance(plain, dict):
        raise BadLineError("it is JSON, but not an object")
    return plain


def _decode_object(plain: JsonObject) -> Event | Checkpoint:
    """The tolerant way: other writers leave fields out, and newer versions add some."""
    try:
        if plain.get("type") == "checkpoint":
            return convert_to({"id": "", **plain}, Checkpoint)
        seq = convert_to(plain.pop("seq", 0), Count)
    except BadRecordError as error:
        raise BadLineError(f"it is not a valid {plain.get('type') or 'record'} ({error})") from None
    if plain.get("type") == "metadata":
        plain = {"agent": "", "status": "active", **plain}
    return parse_event(plain, seq)


def _incoherence(overview: Overview) -> str | None:
    """The reason why no events can have produced this overview. A branch starts from an earlier one."""
    earlier = {""}
    for name, branch in overview.branches.items():
        if branch.name != name or (branch.parent in overview.branches and branch.parent not in earlier):
            return f"its branch {name!a:.60} has an impossible parent"
        earlier.add(name)
    if overview.branch not in earlier:
        return f"its branch {overview.branch!a:.60} is not among its branches"
    moments = [overview.created_at, overview.updated_at, *[branch.created_at for branch in overview.branches.values()]]
    return None if all(map(is_moment, moments)) else "it contains a time outside the calendar"
