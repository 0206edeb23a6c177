"""What the saver records of a thread. A thread is the fold of these records, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from segue.bridges.langgraph.values import Stored
from segue.bridges.sessions import new_record

if TYPE_CHECKING:
    from segue.model import JsonObject, Record

T = TypeVar("T")

_PREFIX = "langgraph."
LATEST_NAME = "langgraph.latest "


class Position(Struct, frozen=True, omit_defaults=True):
    """Which turns the messages of a checkpoint are: the first `lead` of the branch, and the last ones before `count`.

    In between are turns whose messages were removed from the state to make it shorter.
    """

    branch: str = "main"
    count: int = 0
    lead: int = 0
    length: int = 0
    """How many messages the state has."""
    channel: str = ""
    """The channel of the messages; empty if there was none yet."""

    def turn_of(self, message: int) -> int:
        return message if message < self.lead else self.count - (self.length - message)


class VersionedValue(Struct, frozen=True, array_like=True):
    version: str | int | float
    value: Stored


class TaskWrite(Struct, frozen=True, array_like=True):
    index: int
    channel: str
    value: Stored


class CheckpointData(Struct, frozen=True, omit_defaults=True):
    """A checkpoint without its values."""

    id: str
    checkpoint: Stored
    metadata: Stored
    ns: str = ""
    parent: str = ""
    values: dict[str, VersionedValue] = {}
    """By channel."""
    new: dict[str, Stored] = {}
    """By key: the values that are stored here."""
    floor: int = 0
    """The first event that is needed to read it."""
    position: Position = Position()


class WritesData(Struct, frozen=True, omit_defaults=True):
    """The writes of a task after a checkpoint."""

    checkpoint: str
    task: str
    writes: list[TaskWrite]
    ns: str = ""
    path: str = ""


class DropData(Struct, frozen=True, omit_defaults=True):
    """Checkpoints that are not listed any more, by namespace and id."""

    checkpoints: list[list[str]]


class LatestData(Struct, frozen=True, omit_defaults=True):
    """The latest checkpoint of a namespace, and the first event that is needed to read it."""

    id: str
    """Empty if all of them were dropped."""
    floor: int = 0


KINDS: dict[str, type[CheckpointData | WritesData | DropData | LatestData]] = {
    f"{_PREFIX}checkpoint": CheckpointData,
    f"{_PREFIX}writes": WritesData,
    f"{_PREFIX}drop": DropData,
    f"{_PREFIX}latest": LatestData,
}
_NAMES = {data: kind for kind, data in KINDS.items()}


def record_of(data: CheckpointData | WritesData | DropData, blobs: tuple[str, ...] = ()) -> Record:
    return new_record(_NAMES[type(data)], _plain(data), blobs=blobs)


def latest_record(ns: str, data: LatestData | None) -> Record:
    """The record that names the latest checkpoint of a namespace; without data it is removed from the overview."""
    return new_record(_NAMES[LatestData], {} if data is None else _plain(data), name=LATEST_NAME + ns)


def _plain(data: Struct) -> JsonObject:
    found: JsonObject = msgspec.to_builtins(data)
    return found


def parse(kind: type[T], data: JsonObject) -> T:
    """The data of a record. ValidationError if it was not the saver that wrote it."""
    return msgspec.convert(data, kind)
