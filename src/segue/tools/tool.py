"""A tool: it turns the arguments of a call into an invocation, which names the permission it needs and then runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from segue.model import JsonObject
from segue.permissions.confinement import Confinement
from segue.tools.call import ToolFailedError, ToolSpec

if TYPE_CHECKING:
    from segue.permissions import Action


class PermissionRequest(NamedTuple):
    """The permission that an invocation needs from the scope."""

    action: Action
    target: str
    is_recursive: bool = False
    """Whether it covers everything in a folder."""


class ToolContext(Struct, frozen=True, kw_only=True):
    """The surroundings in which an invocation runs."""

    cwd: str
    """The folder that relative paths start from."""
    environ: Mapping[str, str]
    may_read: Callable[[str], bool]
    """Whether the scope allows one path within a folder or a command that was allowed."""
    may_write: Callable[[str], bool]
    limit: int
    """The maximum number of characters in a result."""
    timeout_seconds: float
    confinement: Confinement | None = None
    """The sandbox for commands; None where they run without one."""


class Invocation(Protocol):
    """A call with valid arguments."""

    @property
    def request(self) -> PermissionRequest | None:
        """None where scopes have no rule for it."""

    def run(self, context: ToolContext, path: str) -> str:
        """Run it and return the result. `path` is the resolved path of the request, and the only one to be touched.

        Raises ToolFailedError.
        """


class Tool(Struct, frozen=True, kw_only=True):
    """A tool that a model can call."""

    spec: ToolSpec
    may_change: bool
    """Whether it may change anything: by default the user then has to confirm each call."""
    parse: Callable[[JsonObject], Invocation]
    """Parse the arguments of a call. Raises ToolFailedError if they are invalid."""


class _InvocationStruct(Invocation, Protocol):
    may_change: ClassVar[bool]


def make_tool(name: str, kind: type[_InvocationStruct]) -> Tool:
    """Make a tool from a struct: its docstring is the description, its fields are the arguments."""
    _, components = msgspec.json.schema_components([kind])
    schema = components[kind.__name__]
    del schema["title"]
    spec = ToolSpec(name=name, description=schema.pop("description"), parameters=schema)

    def parse(arguments: JsonObject) -> Invocation:
        try:
            return msgspec.convert(arguments, kind)
        except msgspec.ValidationError as error:
            raise ToolFailedError(f"invalid arguments for {name}: {error}") from None

    return Tool(spec=spec, may_change=kind.may_change, parse=parse)


def clip(text: str, limit: int) -> str:
    """Cut the middle out of a text that is too long."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail]}\n[the middle is left out]\n{text[len(text) - tail :]}"
