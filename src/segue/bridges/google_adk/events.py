"""Events of the framework as turns and records, and back. The event itself is there verbatim, as JSON."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from google.adk.events.event import Event
from google.adk.sessions.state import State
from pydantic import ValidationError

from segue.bridges.packing import pack, unpack
from segue.bridges.sessions import new_id
from segue.clock import utc_now
from segue.errors import Damage, DamagedError, UsageError
from segue.integrations.format.google import calls_of, media_of, reasoning_of, responses_of, result_of, spoken
from segue.integrations.format.parts import usage_of
from segue.integrations.format.values import as_text, child, objects
from segue.model import Record, Turn, is_moment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.model import Event as SegueEvent
    from segue.model import JsonObject

    PutBlob = Callable[[bytes], str]
    GetBlob = Callable[[str], bytes]

_ROLES = {"user": "user", "assistant": "model"}
EVENT = "event"
"""The kind of the record of an event that has no content."""


def to_stored(event: Event, *, branch: str, put_blob: PutBlob) -> Turn | Record:
    """The turn or the record of an event, which is packed if it is large."""
    try:
        dump = event.model_dump(mode="json", exclude_none=True)
    except (ValueError, RecursionError) as error:
        raise not_json("the event", error) from None
    _drop_temporary(dump)
    media = _move_media(dump, put_blob)
    packed = pack(dump, put_blob, what="the event")
    extra: JsonObject = {"media": media} if media else {}
    moment = _moment(event.timestamp)
    said = _pieces(event)
    if not said:
        blobs = tuple(sorted({*media.values(), *blobs_of(packed)}))
        return Record(kind=EVENT, data={**packed, **extra}, blobs=blobs, timestamp=moment, id=new_id())
    plain = packed.get("value")
    if not isinstance(plain, dict):
        extra["packed"] = True
    usage = _usage(event)
    parts = _parts(said, media)
    results = [part for part in parts if part["type"] == "tool_result"]
    texts = [spoken(said), *(as_text(part["content"]) for part in results)]
    return Turn(
        role=_role(event, is_result=bool(results)),
        content="\n\n".join(filter(None, texts)),
        timestamp=moment,
        tokens=_count(usage.get("output_tokens")),
        tokens_by="provider" if "output_tokens" in usage else "",
        model=event.model_version or "",
        branch=branch,
        parts=tuple(parts),
        native=plain if isinstance(plain, dict) else packed,
        id=new_id(),
        extra={"event": event.id, "author": event.author, **extra, **({"usage": usage} if usage else {})},
    )


def not_json(what: str, error: Exception) -> UsageError:
    return UsageError(f"{what} cannot be stored as JSON: {error}", hint="use texts, numbers, lists and dicts")


def is_event(stored: SegueEvent) -> bool:
    """Whether it is an event to the framework: made by `to_stored`, or said in Segue or in another tool."""
    if isinstance(stored, Turn):
        return _is_ours(stored) or (stored.role in _ROLES and stored.content != "")
    return isinstance(stored, Record) and stored.kind == EVENT


def _is_ours(turn: Turn) -> bool:
    return turn.native is not None and "event" in turn.extra


def has_blobs(stored: SegueEvent) -> bool:
    """Whether the event is large."""
    if not is_event(stored):
        return False
    fields = stored.extra if isinstance(stored, Turn) else stored.data if isinstance(stored, Record) else {}
    return not {"packed", "media", "blob"}.isdisjoint(fields)


def dump_of(stored: SegueEvent, get_blob: GetBlob) -> JsonObject | None:
    """The JSON of the event that was stored."""
    if isinstance(stored, Turn):
        if stored.native is None or not _is_ours(stored):
            return _said(stored)
        dump = unpack(stored.native, get_blob) if stored.extra.get("packed") is True else stored.native
        return _with_media(dump, stored.extra.get("media"), get_blob)
    if isinstance(stored, Record):
        return _with_media(unpack(stored.data, get_blob), stored.data.get("media"), get_blob)
    return None


def to_event(session_id: str, stored: SegueEvent, get_blob: GetBlob) -> Event:
    """The event that was stored. DamagedError if it is none: a session may come from anywhere."""
    try:
        return Event.model_validate(dump_of(stored, get_blob))
    except ValidationError as error:
        reason = f"not an event of google-adk: {error.errors()[0]['msg']}"
        raise DamagedError(session_id, [Damage(f"event {stored.seq}", reason)]) from None


def _said(turn: Turn) -> JsonObject:
    """The event of a turn that the framework did not make."""
    role = _ROLES[turn.role]
    return {
        "id": turn.id,
        "invocation_id": f"segue-{turn.id}",
        "author": "user" if role == "user" else turn.model or "segue",
        "content": {"role": role, "parts": [{"text": turn.content}]},
        "timestamp": turn.timestamp.timestamp(),
    }


def _drop_temporary(dump: JsonObject) -> None:
    actions = child(dump, "actions")
    if delta := child(actions, "state_delta"):
        actions["state_delta"] = {key: value for key, value in delta.items() if not key.startswith(State.TEMP_PREFIX)}


# ── Turns ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pieces(event: Event) -> list[JsonObject]:
    """What was said, as in Google's API; also what was spoken aloud and written down."""
    if event.content is not None and event.content.parts:
        return [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in event.content.parts]
    spoken_aloud = event.input_transcription or event.output_transcription
    return [{"text": spoken_aloud.text}] if spoken_aloud is not None and spoken_aloud.text else []


def _role(event: Event, *, is_result: bool) -> str:
    if is_result:
        return "tool"
    role = event.content.role if event.content is not None else None
    if role is None:
        role = "user" if event.author == "user" or event.input_transcription is not None else "model"
    return "user" if role == "user" else "assistant"


def _parts(pieces: Sequence[JsonObject], media: dict[str, str]) -> list[JsonObject]:
    shown = [
        {**piece, "inlineData": {**child(piece, "inlineData"), "data": media[str(at)]}} if str(at) in media else piece
        for at, piece in enumerate(pieces)
    ]
    results = [_result(response) for response in responses_of(pieces)]
    return [*reasoning_of(pieces), *calls_of(pieces), *results, *map(_with_hash, media_of(shown))]


def _result(response: JsonObject) -> JsonObject:
    """A function that returns a plain value has it under `result`."""
    value = child(response, "response")
    if value.keys() == {"result"}:
        response = {**response, "response": {"output": value["result"]}}
    return result_of(response.get("id"), [{"functionResponse": response}])


def _with_hash(part: JsonObject) -> JsonObject:
    if part["type"] == "image" and "data" in part:
        part = {**part, "hash": part["data"]}
        del part["data"]
    return part


def _usage(event: Event) -> JsonObject:
    if (used := event.usage_metadata) is None:
        return {}
    answer, thoughts = used.candidates_token_count, used.thoughts_token_count
    return usage_of(
        input=used.prompt_token_count,
        cached=used.cached_content_token_count,
        output=None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
        reasoning=thoughts,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _moment(timestamp: float) -> datetime:
    """The time of an event, for a listing: what the framework calculates with is in the event itself."""
    try:
        moment = datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError, OSError):
        return utc_now()
    return moment if is_moment(moment) else utc_now()


# ── Bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def blobs_of(packed: JsonObject) -> tuple[str, ...]:
    """The blob of a packed value, if it has one."""
    return (name,) if isinstance(name := packed.get("blob"), str) else ()


def _inline(dump: JsonObject) -> dict[str, JsonObject]:
    """The parts of the content that hold bytes, by their number."""
    parts = objects(child(dump, "content").get("parts"))
    return {str(at): inline for at, part in enumerate(parts) if (inline := child(part, "inline_data"))}


def _move_media(dump: JsonObject, put_blob: PutBlob) -> dict[str, str]:
    """Move the bytes in the content to blobs: their names by the number of the part."""
    media: dict[str, str] = {}
    for at, inline in _inline(dump).items():
        if isinstance(data := inline.pop("data", None), str):
            media[at] = put_blob(urlsafe_b64decode(data))
    return media


def _with_media(dump: JsonObject | None, media: object, get_blob: GetBlob) -> JsonObject | None:
    if dump is not None and isinstance(media, dict):
        for at, inline in _inline(dump).items():
            if isinstance(name := media.get(at), str):
                inline["data"] = urlsafe_b64encode(get_blob(name)).decode("ascii")
    return dump
