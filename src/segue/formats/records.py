"""Events as plain JSON objects, and back: what all formats that store whole events have in common."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import fields, replace

from segue.errors import UsageError
from segue.model import EPOCH, EVENT_TYPES, Count, Unknown, is_moment
from segue.model.events import EXTRA

if TYPE_CHECKING:
    from segue.model import Event, JsonObject

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # two characters: one beyond U+FFFF is a single character here
FIELD_NAMES = {known: frozenset(item.encode_name for item in fields(known)) for known in EVENT_TYPES.values()}
_encoder = msgspec.json.Encoder()
ROLE_SYNONYMS = {"human": "user", "ai": "assistant", "agent": "assistant", "model": "assistant", "function": "tool"}
"""How other programs name the roles of a conversation."""
_FIRST_DAY, _LAST_DAY = b'"0001-01-01', b'"9999-12-31'

T = TypeVar("T")


class BadRecordError(ValueError):
    """JSON that cannot be used, and why."""


def event_to_object(event: Event) -> JsonObject:
    """The event with its type and without its number; default values are left out."""
    if isinstance(event, Unknown):
        return {"type": event.type, **event.data, "id": event.id}
    known: JsonObject = msgspec.to_builtins(replace(event, seq=0, extra={}))
    return {**known, **event.extra}


def parse_event(plain: JsonObject, seq: int) -> Event:
    """The event of an object; other writers leave fields out, newer versions add some. BadRecordError if invalid."""
    plain = dict(plain)
    kind, name = plain.pop("type", ""), plain.pop("id", "")
    known = EVENT_TYPES.get(kind) if isinstance(kind, str) else None
    try:
        if known is None:
            return Unknown(type=convert_to(kind, str), data=plain, id=convert_to(name, str), seq=convert_to(seq, Count))
        names = FIELD_NAMES[known]
        for moment in {"timestamp", "created_at"} & names:
            plain[moment] = parse_moment(plain.get(moment))
        if "tokens" in names:
            plain.setdefault("tokens", None)
        extra = {key: value for key, value in plain.items() if key not in names}
        values = {key: value for key, value in plain.items() if key in names}
        return convert_to({"type": kind, **values, "id": name, "seq": seq, EXTRA: extra}, known)
    except BadRecordError as error:
        raise BadRecordError(f"it is not a valid {kind or 'record'} ({error})") from None


def convert_to(plain: object, kind: type[T]) -> T:
    """Convert a value to a type. BadRecordError with the reason."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise BadRecordError(str(error)) from None
    except UnicodeEncodeError:
        raise BadRecordError("half a character outside of text") from None
    except RecursionError:
        raise BadRecordError("it is nested too deeply") from None


def parse_moment(value: object) -> datetime:
    """Parse the time of another writer: text with or without a zone, or seconds; None becomes the epoch."""
    if value is None:
        return EPOCH
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise TypeError
        if is_moment(moment):
            return moment
    except (TypeError, ValueError, OverflowError, OSError):
        pass
    raise BadRecordError(f"{value!a:.40} is not a time")


def may_hold_invalid_time(data: bytes) -> bool:
    """Whether JSON may contain a time that does not exist in UTC (see `is_moment`); then each one must be checked."""
    return _LAST_DAY in data or _FIRST_DAY in data


def encode_indented(plain: object) -> bytes:
    """Indented by two spaces, for readers; UTF-8, with lone surrogates as escapes."""
    try:
        return msgspec.json.format(_encoder.encode(plain), indent=2)
    except UnicodeEncodeError:  # lone surrogates: models emit them, and only escapes can represent them
        import json

        text = json.dumps(plain, ensure_ascii=False, indent=2)
        check_surrogates(text)
        return text.encode("utf-8", "backslashreplace")
    except (TypeError, ValueError) as error:
        raise UsageError(f"an event contains a value that cannot be recorded: {error}") from None
    except RecursionError:
        raise UsageError("an event is nested too deeply to be recorded") from None


def encode_compact(plain: object) -> bytes:
    """On one line that no line reader splits; UTF-8, or escapes only if there are lone surrogates."""
    try:
        encoded = _encoder.encode(plain)
    except UnicodeEncodeError:
        import json

        values = msgspec.to_builtins(plain)
        encoded = json.dumps(values, separators=(",", ":")).encode()
        check_surrogates(json.dumps(values, ensure_ascii=False))
    except (TypeError, ValueError) as error:
        raise UsageError(f"an event contains a value that cannot be recorded: {error}") from None
    except RecursionError:
        raise UsageError("an event is nested too deeply to be recorded") from None
    # U+2028 and U+2029 are legal in JSON, but many line readers split there. Their last bytes are the rarest.
    if b"\xa8" in encoded:
        encoded = encoded.replace(b"\xe2\x80\xa8", b"\\u2028")
    if b"\xa9" in encoded:
        encoded = encoded.replace(b"\xe2\x80\xa9", b"\\u2029")
    return encoded


def check_surrogates(text: str) -> None:
    """Raise UsageError if two lone surrogates would be read back from escapes as one character."""
    if _PAIR.search(text):
        raise UsageError("two adjacent surrogates would be read from JSON as one character")


def parse_json(data: bytes) -> object:
    """Parse any JSON. BadRecordError with the reason."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # lone surrogates and byte order marks are read below, where other errors get their reason
    import json

    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise BadRecordError("it is not UTF-8") from None
    except RecursionError:
        raise BadRecordError("it is nested too deeply") from None
    except ValueError as error:  # also a number of more digits than Python reads
        where = str(error).partition(" (char ")[0].replace("line 1 column", "column")
        reason = where if data.strip() else "it is empty"
        raise BadRecordError(f"it is not JSON ({reason})") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
