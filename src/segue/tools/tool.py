"""What an ability is: a value made of the arguments of a call, which says what it needs and then does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from segue.model import JsonObject
from segue.permissions.confinement import Confinement
from segue.tools.call import ToolFailedError, ToolSpec

if TYPE_CHECKING:
    from segue.permissions import Action


class PermissionRequest(NamedTuple):
    """What the scope has to allow first."""

    action: Action
    target: str
    is_deep: bool = False
    """Whether it is about all that is in a folder."""


class ToolContext(Struct, frozen=True, kw_only=True):
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


class Invocation(Protocol):
    """One call, understood."""

    @property
    def wish(self) -> PermissionRequest | None:
        """None where the scope has no word for it."""

    def run(self, room: ToolContext, place: str) -> str:
        """Do it. `place` is where the path of the wish really leads: nothing else is touched. FailedError if not."""


class Tool(Struct, frozen=True, kw_only=True):
    offer: ToolSpec
    changes: bool
    """Whether it may change anything: then people mostly want to be asked."""
    read: Callable[[JsonObject], Invocation]
    """Understand the arguments of a call. FailedError says what is wrong with them."""


@runtime_checkable
class _OwnJob(Invocation, Protocol):
    changes: ClassVar[bool]


def tool_from(name: str, kind: type[_OwnJob]) -> Tool:
    """Of a struct: its docstring tells what it does, its fields are the arguments."""
    _, found = msgspec.json.schema_components([kind])
    schema = found[kind.__name__]
    del schema["title"]
    offer = ToolSpec(name=name, description=schema.pop("description"), parameters=schema)

    def read(arguments: JsonObject) -> Invocation:
        try:
            return msgspec.convert(arguments, kind)
        except msgspec.ValidationError as error:
            raise ToolFailedError(f"{name} was called wrongly: {error}") from None

    return Tool(offer=offer, changes=kind.changes, read=read)


def clipped(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail]}\n[the middle is left out]\n{text[len(text) - tail :]}"
