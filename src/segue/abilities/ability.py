"""What an ability is: a value made of the arguments of a call, which says what it needs and then does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from segue.abilities.call import FailedError, Offer
from segue.abilities.confinement import Confinement
from segue.model import JsonObject

if TYPE_CHECKING:
    from segue.scope import Action


class Wish(NamedTuple):
    """What the scope has to allow first."""

    action: Action
    target: str
    is_deep: bool = False
    """Whether it is about all that is in a folder."""


class Room(Struct, frozen=True, kw_only=True):
    """Where a call is carried out."""

    cwd: str
    """From where relative paths are meant."""
    environ: Mapping[str, str]
    may_read: Callable[[str], bool]
    """Of what lies in a folder, or in a line, that was allowed: whether this is part of it."""
    may_write: Callable[[str], bool]
    limit: int
    """Characters that a model is told at most."""
    timeout_seconds: float
    confinement: Confinement | None = None
    """What the kernel holds commands to; None where they are held to nothing."""


class Job(Protocol):
    """One call, understood."""

    @property
    def wish(self) -> Wish | None:
        """None where the scope has no word for it."""

    def run(self, room: Room, place: str) -> str:
        """Do it. `place` is where the path of the wish really leads: nothing else is touched. FailedError if not."""


class Ability(Struct, frozen=True, kw_only=True):
    offer: Offer
    changes: bool
    """Whether it may change anything: then people mostly want to be asked."""
    read: Callable[[JsonObject], Job]
    """Understand the arguments of a call. FailedError says what is wrong with them."""


@runtime_checkable
class _OwnJob(Job, Protocol):
    changes: ClassVar[bool]


def ability_of(name: str, kind: type[_OwnJob]) -> Ability:
    """Of a struct: its docstring tells what it does, its fields are the arguments."""
    _, found = msgspec.json.schema_components([kind])
    schema = found[kind.__name__]
    del schema["title"]
    offer = Offer(name=name, description=schema.pop("description"), parameters=schema)

    def read(arguments: JsonObject) -> Job:
        try:
            return msgspec.convert(arguments, kind)
        except msgspec.ValidationError as error:
            raise FailedError(f"{name} was called wrongly: {error}") from None

    return Ability(offer=offer, changes=kind.changes, read=read)


def clipped(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail]}\n[the middle is left out]\n{text[len(text) - tail :]}"
