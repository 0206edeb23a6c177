"""A checkpoint on its way into the records: what is encoded before the session is opened, and what needs it open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from msgspec import UNSET, Struct
from msgspec.structs import replace

from segue.bridges.langgraph.messages import common_length, copy_messages, lay_out, trimmed_length
from segue.bridges.langgraph.records import (
    CheckpointData,
    LatestData,
    Position,
    VersionedValue,
    latest_record,
    record_of,
)
from segue.bridges.langgraph.thread import POINTERS, Entry, MessageCopies, Thread
from segue.bridges.langgraph.turns import Conversation, continue_at, is_message_list, may_be_trimmed, moment_of
from segue.bridges.langgraph.values import Encoded, Part, Stored, encode
from segue.model import Event, Turn
from segue.transfer.stored_turn import stored_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from segue.session import LiveSession

WINDOW = 200
"""A value that was stored this many events ago is stored again, so that the latest checkpoint is found at the end."""

_TINY = 40
"""JSON of this length is not worth a reference."""

Pieces = list[tuple[int, "Stored | Encoded"]]


class Draft(Struct):
    """A checkpoint with its values encoded."""

    ns: str
    id: str
    parent: str
    checkpoint: Encoded
    metadata: Encoded
    moment: Any
    values: dict[str, tuple[str | int | float, Stored | Encoded | Pieces]] = {}
    copies: dict[str, list[Any]] = {}
    """By channel: the messages of the list."""
    conversation: Conversation | None = None

    def events(self, session: LiveSession, thread: Thread, base: Entry | None) -> list[Event]:
        """What is recorded: the new turns, the checkpoint, and that it is the latest one."""
        events, position = self._turns(session, thread, base)
        blobs: list[str] = []

        def put_blob(data: bytes) -> str:
            blobs.append(session.put_blob(data))
            return blobs[-1]

        data = self._data(thread, position, put_blob)
        data = replace(data, floor=thread.floor_at(data, session.overview.seq + len(events) + 1))
        events.append(record_of(data, tuple(blobs)))
        latest = thread.latest.get(self.ns)
        if latest is None or latest.id <= self.id:
            if latest is None and len(thread.latest) >= POINTERS:
                oldest = next(ns for ns in thread.latest if ns)
                events.append(latest_record(oldest, None))
            events.append(latest_record(self.ns, LatestData(self.id, data.floor)))
        self._remember(thread, data)
        return events

    def _turns(self, session: LiveSession, thread: Thread, base: Entry | None) -> tuple[list[Event], Position]:
        if self.ns:
            return [], Position()
        overview = session.overview
        if base is None:
            before = Position(overview.branch, overview.turn_count)
            is_tip = True
        else:
            before = base.data.position
            is_tip = thread.tips.get(before.branch) == base.data.id
        if self.conversation is None:
            events, branch = continue_at(overview, before.branch, before.count, is_tip=is_tip, moment=self.moment)
            return events, replace(before, branch=branch)
        events, position = self.conversation.events(overview, before, is_tip=is_tip, moment=self.moment)
        return [stored_turn(one, session.put_blob) if isinstance(one, Turn) else one for one in events], position

    def _data(self, thread: Thread, position: Position, put_blob: Callable[[bytes], str]) -> CheckpointData:
        prefix, new, moved = os.urandom(6).hex(), dict[str, Stored](), dict[str, str]()

        def keep(value: Stored) -> Stored:
            key = f"{prefix}.{len(new)}"
            new[key] = value
            return Stored(key=key)

        def place(value: Stored | Encoded) -> Stored:
            if isinstance(value, Encoded):
                stored = value.stored(put_blob)
                is_small = stored.json is not UNSET and len(repr(stored.json)) <= _TINY
                return stored if is_small or stored.blob is not UNSET else keep(stored)
            for key in value.referenced():
                if key not in moved and thread.seq - thread.seq_of(key) > WINDOW:
                    moved[key] = keep(thread.value(key)).key or ""
            return value.replacing(moved)

        values = dict[str, VersionedValue]()
        for channel, (version, value) in self.values.items():
            if isinstance(value, list):
                stored = Stored(parts=[Part(count, place(piece)) for count, piece in value])
            else:
                stored = place(value)
            values[channel] = VersionedValue(version, stored)
        return CheckpointData(
            id=self.id,
            checkpoint=self.checkpoint.stored(put_blob),
            metadata=self.metadata.stored(put_blob),
            ns=self.ns,
            parent=self.parent,
            values=values,
            new=new,
            position=position,
        )

    def _remember(self, thread: Thread, data: CheckpointData) -> None:
        for channel, messages in self.copies.items():
            thread.copies[self.ns, channel] = MessageCopies(data.values[channel].value, messages)


class Drafting:
    """Encodes checkpoints. `load` gives the value of what is stored."""

    def __init__(self, serde: SerializerProtocol, thread: Thread | None, load: Callable[[Stored], Any]) -> None:
        self._serde = serde
        self._thread = thread
        self._load = load

    def draft(
        self,
        checkpoint: Mapping[str, Any],
        metadata: object,
        new: Mapping[str, Any],
        *,
        ns: str,
        parent: str,
        base: Entry | None,
    ) -> Draft:
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        draft = Draft(
            ns=ns,
            id=checkpoint["id"],
            parent=parent,
            checkpoint=encode(self._serde, rest),
            metadata=encode(self._serde, metadata),
            moment=moment_of(checkpoint.get("ts")),
        )
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        for channel in {**versions, **values}:
            version = versions.get(channel, "")
            known = None if channel in new else self._known(ns, base, channel, version)
            if known is not None:
                draft.values[channel] = (version, known)
            elif channel in values:
                draft.values[channel] = (version, self._encode(draft, base, channel, values[channel]))
        if not ns:
            draft.conversation = self._conversation(draft, base, values)
        return draft

    def _known(self, ns: str, base: Entry | None, channel: str, version: str | float) -> Stored | None:
        if base is not None and channel in base.data.values and base.data.values[channel].version == version:
            return base.data.values[channel].value
        return None if self._thread is None else self._thread.version(ns, channel, version)

    def _encode(self, draft: Draft, base: Entry | None, channel: str, value: Any) -> Encoded | Pieces:  # noqa: ANN401
        if not is_message_list(value):
            return encode(self._serde, value)
        stored = base.data.values[channel].value if base is not None and channel in base.data.values else Stored()
        old = self._messages(draft.ns, channel, stored)
        common = common_length(old, value, self._serde)
        pieces: Pieces = []
        at = 0
        for count, piece in lay_out([(part.count, part.value) for part in stored.parts or ()], common, len(value)):
            pieces.append((count, piece if piece is not None else encode(self._serde, value[at : at + count])))
            at += count
        draft.copies[channel] = [*old[:common], *copy_messages(value[common:])]
        return pieces

    def _conversation(self, draft: Draft, base: Entry | None, values: Mapping[str, Any]) -> Conversation | None:
        """What the messages of the state add to the turns; None if the state says nothing about them.

        An encrypted state is not repeated in turns that everyone can read.
        """
        if isinstance(self._serde, EncryptedSerializer):
            return None
        before = Position() if base is None else base.data.position
        lists = {
            name: messages_of(values[name]) for name, (_, one) in draft.values.items() if not isinstance(one, Stored)
        }
        channel = before.channel
        if channel not in lists:
            found = sorted(name for name, value in lists.items() if value)
            if channel or not found:
                return None
            channel = "messages" if "messages" in found else found[0]
        messages = lists[channel]
        if messages is None:
            return None
        old = self._spoken(draft.ns, base, channel) if before.channel else []
        if len(old) != before.length:  # a file may claim anything
            old = []
        common = common_length(old, messages, self._serde)
        is_shorter = common < len(old) and may_be_trimmed(before, old, common)
        trimmed = trimmed_length(old, messages, common, self._serde) if is_shorter else 0
        return Conversation(common, trimmed, messages, channel)

    def _spoken(self, ns: str, base: Entry | None, channel: str) -> list[BaseMessage]:
        """The messages that are turns already: those of the nearest checkpoint that has them."""
        while base is not None and self._thread is not None:
            if channel in base.data.values:
                return self._messages(ns, channel, base.data.values[channel].value)
            base = self._thread.get(ns, base.data.parent)
        return []

    def _messages(self, ns: str, channel: str, stored: Stored) -> list[BaseMessage]:
        """The messages of a stored list. Nothing else refers to them."""
        known = None if self._thread is None else self._thread.copies.get((ns, channel))
        if known is not None and known.value == stored:
            return known.messages
        return messages_of(self._load(stored)) or [] if stored != Stored() else []


def messages_of(value: object) -> list[BaseMessage] | None:
    """The messages of a value; None if it is anything but a list of messages."""
    if isinstance(value, _DeltaSnapshot):
        value = value.value
    return value if is_message_list(value) or value == [] else None  # type: ignore[return-value]
