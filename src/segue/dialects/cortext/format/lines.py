r"""The turns: `messages.jsonl`, one JSON object per line, split at the byte \n and nowhere else.

    {"role":"user","content":"…","timestamp":"…","segue":{"id":"…","seq":7,"sum":"1a2b3c4d"}}

`sum` is the last field of the line: the CRC-32 of every byte before `,"sum"` and of the mark behind the eight digits.
Without a mark the line ends its append. `+` says that the append goes on in the next line, `@12` that the append counts
once session.json has reached event 12. A line without `segue` comes from another writer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct

from segue.formats.records import (
    ROLE_SYNONYMS,
    BadRecordError,
    encode_compact,
    may_hold_invalid_time,
    parse_event,
    parse_json,
)
from segue.model import MAIN, ROLES, Count, JsonObject, Moment, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = ("role", "content", "timestamp")

_SUM = re.compile(rb',"sum":"([0-9a-f]{8})(|\+|@[0-9]{1,18})"\}\}')
_PLAIN_SUM = len(b',"sum":"00000000"}}')
_LONGEST_SUM = _PLAIN_SUM + len("@") + 18


class _Ours(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What Cortext's messages have no field for."""

    tokens: Count | None = None
    tokens_by: str = ""
    model: str = ""
    partial: bool = False
    branch: str = MAIN
    parts: tuple[JsonObject, ...] = ()
    native: JsonObject | None = None
    extra: JsonObject = {}
    id: str
    seq: Count


class _Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    role: str
    content: str
    timestamp: Moment
    segue: _Ours


_OURS = _Ours.__struct_fields__
_decoder = msgspec.json.Decoder(_Message)


class MessageLine(NamedTuple):
    turn: Turn
    """With its seq, or with 0 if another writer gave it none."""
    mark: str = ""


def encode_turns(turns: Sequence[Turn], *, until: int | None = None) -> bytes:
    """The lines of one append; with `until`, it counts only when session.json has reached that event."""
    last = len(turns) - 1
    marks = [b"@%d" % until if until is not None else b"+" if at < last else b"" for at in range(len(turns))]
    return b"".join([_encode(turn, mark) for turn, mark in zip(turns, marks, strict=True)])


def decode_message(line: bytes) -> MessageLine:
    """Decode one line without its newline. BadRecordError with the reason."""
    ending = _SUM.search(line, max(0, len(line) - _LONGEST_SUM))
    if ending is None or ending.end() != len(line):
        return MessageLine(_decode_foreign(line))
    body, mark = line[: ending.start()], ending[2]
    if _sum(body, mark) != int(ending[1], 16):
        raise BadRecordError("the checksum does not match: some of its bytes changed")
    return MessageLine(_decode_ours(body + b"}}"), mark.decode())


def are_plain_lines(block: bytes) -> bool:
    """Whether all of these whole lines are as we wrote them, by their checksums alone."""
    lines = block.split(b"\n")[:-1]
    bodies = [line[:-_PLAIN_SUM] for line in lines]
    if [line[-_PLAIN_SUM:] for line in lines] == [b',"sum":"%08x"}}' % total for total in map(crc32, bodies)]:
        return True
    return decode_plain_turns(block) is not None  # some have a mark


def decode_plain_turns(block: bytes) -> list[Turn] | None:
    """The turns of whole lines, if all are ours; else None."""
    turns: list[Turn] = []
    for line in block.split(b"\n")[:-1]:
        try:
            turns.append(decode_message(line).turn)
        except BadRecordError:
            return None
    return turns if all(turn.seq for turn in turns) else None


def _encode(turn: Turn, mark: bytes) -> bytes:
    ours = _Ours(**{name: getattr(turn, name) for name in _OURS})
    message = _Message(role=turn.role, content=turn.content, timestamp=turn.timestamp, segue=ours)
    body = encode_compact(message)[:-2]
    return b'%b,"sum":"%08x%b"}}\n' % (body, _sum(body, mark), mark)


def _sum(body: bytes, mark: bytes) -> int:
    return crc32(mark, crc32(body))


def _decode_ours(text: bytes) -> Turn:
    if not may_hold_invalid_time(text):
        try:
            return _turn(_decoder.decode(text))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass  # lone surrogates, and what newer versions add
    plain = _object(text)
    ours = plain.pop("segue", None)
    if not isinstance(ours, dict):
        raise BadRecordError("the value under segue is not an object")
    seq, extra = ours.pop("seq", None), ours.pop("extra", {})
    if not isinstance(seq, int) or seq < 1 or not isinstance(extra, dict):
        raise BadRecordError("it has a checksum but no number")
    turn = parse_event({"type": "turn", **plain, **ours, **extra}, seq)
    assert isinstance(turn, Turn)  # noqa: S101 - the type was given
    return turn


def _turn(found: _Message) -> Turn:
    ours = found.segue
    if ours.seq < 1:
        raise BadRecordError("it has a checksum but no number")
    return Turn(
        role=found.role,
        content=found.content,
        timestamp=found.timestamp,
        tokens=ours.tokens,
        tokens_by=ours.tokens_by,
        model=ours.model,
        partial=ours.partial,
        branch=ours.branch,
        parts=ours.parts,
        native=ours.native,
        id=ours.id,
        seq=ours.seq,
        extra=ours.extra,
    )


def _decode_foreign(line: bytes) -> Turn:
    plain = _object(line)
    if "segue" in plain:
        raise BadRecordError("its number or its checksum is missing or broken")
    if "role" not in plain and "content" not in plain:
        raise BadRecordError("it is not a message: it has neither role nor content")
    role, content = plain.get("role"), plain.get("content")
    word = ROLE_SYNONYMS.get(role, role) if isinstance(role, str) else ""
    is_malformed = not plain.keys() <= set(SHOWN) or role not in ROLES or not isinstance(content, str)
    turn = parse_event(
        {
            "type": "turn",
            "role": word if word in ROLES else "system",
            "content": _text(content),
            "timestamp": plain.get("timestamp"),
            **({"native": plain} if is_malformed else {}),
        },
        0,
    )
    assert isinstance(turn, Turn)  # noqa: S101 - the type was given
    return turn


def _object(text: bytes) -> JsonObject:
    plain = parse_json(text)
    if not isinstance(plain, dict):
        raise BadRecordError("it is JSON, but not an object")
    return plain


def _text(content: object) -> str:
    """The readable text of content that may have structure."""
    if isinstance(content, list):
        return "".join(_text(part.get("text") if isinstance(part, dict) else part) for part in content)
    return content if isinstance(content, str) else ""
