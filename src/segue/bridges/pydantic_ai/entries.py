"""The records and entries of Pydantic AI as JSON, by its own serializers, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import UUID

from pydantic import ConfigDict, TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessagesTypeAdapter

from segue.bridges.packing import pack, unpack
from segue.errors import Damage, DamagedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pydantic_ai.messages import ModelMessage

    from segue.model import JsonObject

T = TypeVar("T")

_TIMED = 7
"""The version of UUIDs that begin with the milliseconds since 1970."""

_records: TypeAdapter[list[ConversationRecord]] = TypeAdapter(
    list[ConversationRecord], config=ConfigDict(defer_build=True, ser_json_bytes="base64", val_json_bytes="base64")
)


class Entry(NamedTuple):
    """An entry with its message as JSON."""

    id: str
    parent_id: str | None
    message: JsonObject
    is_packed: bool = False
    """Whether the message is as a session has it."""


class EntryNotFoundError(NotFoundError, KeyError):
    """No conversation has this entry. It is a KeyError too, as the framework expects."""

    def __init__(self, entry_id: str) -> None:
        hint = "the conversation that had it was deleted, or something other than this bridge wrote its id"
        super().__init__(f"there is no entry {entry_id!r:.80}", hint=hint)
        self.entry_id = entry_id

    def __str__(self) -> str:
        return str(self.args[0])  # and not in quotes, as that of a key


def dump_record(record: ConversationRecord) -> JsonObject:
    """The record as JSON. UserError if a value in it cannot be JSON."""
    return _dumped(_records, [record], f"conversation {record.conversation_id!r:.80}")[0]


def load_record(data: JsonObject, session_id: str) -> ConversationRecord:
    """DamagedError if it is not a record, which a file may claim."""
    try:
        return _records.validate_python([data])[0]
    except (ValueError, TypeError, RecursionError) as error:
        raise misshapen(session_id, "the conversation", error) from None


def dump_entries(entries: Sequence[ConversationEntry]) -> list[Entry]:
    """The entries with their messages as JSON. UserError if a value in one cannot be JSON."""
    messages = _dumped(ModelMessagesTypeAdapter, [entry.message for entry in entries], "a message")
    return [Entry(entry.id, entry.parent_id, message) for entry, message in zip(entries, messages, strict=True)]


def load_entries(entries: Sequence[Entry], session_id: str) -> list[ConversationEntry]:
    """DamagedError if one of them has no message, which a file may claim."""
    try:
        messages: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python([entry.message for entry in entries])
    except (ValueError, TypeError, RecursionError) as error:
        raise misshapen(session_id, "a message", error) from None
    return [
        ConversationEntry(id=entry.id, parent_id=entry.parent_id, message=message)
        for entry, message in zip(entries, messages, strict=True)
    ]


def pack_entry(entry: Entry, put_blob: Callable[[bytes], str]) -> JsonObject:
    """The entry as the `native` of a turn."""
    packed = pack(entry.message, put_blob, what="a message")
    return {"id": entry.id, "parent_id": entry.parent_id, "kind": "message", "message": packed}


def find_packed(native: JsonObject | None) -> Entry | None:
    """The entry in the `native` of a turn, its message still packed; None if there is none."""
    match native:
        case {"id": str(id), "parent_id": None | str() as parent, "kind": "message", "message": dict(message)}:
            return Entry(id, parent, message, is_packed=True)
    return None


def unpack_entry(entry: Entry, session_id: str, get_blob: Callable[[str], bytes]) -> Entry:
    """The entry with its message as JSON. DamagedError if it has none, which a file may claim."""
    message = unpack(entry.message, get_blob)
    if message is None:
        raise misshapen(session_id, f"entry {entry.id!r:.80}", "it has no message")
    return Entry(entry.id, entry.parent_id, message)


def is_made_after(entry_id: str, moment: datetime) -> bool:
    """Whether the id tells that it was made later, as those of Pydantic AI do: they begin with the time."""
    try:
        made = UUID(entry_id)
    except ValueError:
        return False
    return made.version == _TIMED and made.int >> 80 > moment.timestamp() * 1000


def misshapen(session_id: str, place: str, reason: object) -> DamagedError:
    """The error for what is not as this bridge writes it: another program did, and no recovery helps."""
    error = DamagedError(session_id, [Damage(place, " ".join(str(reason).split())[:300])])
    error.hint = "it was not written by this bridge: delete the conversation, or restore it from a backup"
    return error


def _dumped(adapter: TypeAdapter[list[T]], values: list[T], what: str) -> list[JsonObject]:
    try:
        found: list[JsonObject] = adapter.dump_python(values, mode="json")
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(
            f"{what} cannot be stored as JSON: {error}. Use values that Pydantic can serialize, "
            "such as texts, numbers, lists, dicts, dataclasses and models."
        ) from error
    return found
