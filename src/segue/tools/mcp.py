"""Tools of MCP servers, through the official client library (`segue[mcp]`).

A server is started when it is first needed, in a thread with its own event loop, and ends when it is closed. Only the
user's own configuration can name servers, because a server is a program that runs on this machine.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import subprocess
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, TextIO, cast

import msgspec
from msgspec import Struct

from segue.errors import MissingExtraError, SegueError, UsageError
from segue.model import JsonObject
from segue.tools.call import ToolFailedError, ToolSpec
from segue.tools.tool import PermissionRequest, Tool, ToolContext, clip

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence
    from typing import TypeVar

    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as ListedTool

    T = TypeVar("T")

PREFIX = "mcp__"
START_SECONDS = 30.0
_PAGES = 20
_NAME_LENGTH = 64
"""No provider accepts longer tool names."""
_INVALID = re.compile(r"[^A-Za-z0-9_-]")


class McpServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to reach a server: a command to start, or a URL."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Added to the minimal environment of a command."""
    url: str = ""


def parse_server(name: str, table: object) -> McpServer:
    """Parse the configuration of one server. Raises UsageError if it is invalid."""
    hint = 'e.g. command = "notes-server", with args = [...] and env = {...}; or url = "http://..."'
    if re.fullmatch(r"(?!.*__)[A-Za-z0-9_-]+", name) is None:
        raise UsageError(f"the name of an MCP server has letters, digits and dashes, not {name!r}", hint=hint)
    try:
        server = msgspec.convert(table, McpServer)
    except msgspec.ValidationError as error:
        raise UsageError(f"the configuration of the MCP server {name} is invalid: {error}", hint=hint) from None
    if bool(server.command) == bool(server.url):
        raise UsageError(f"the MCP server {name} needs either a command or a url", hint=hint)
    return server


class McpServers:
    """All configured servers. None is started, and the library is not loaded, before a tool of one is needed."""

    def __init__(self, configured: Mapping[str, McpServer], *, cwd: str) -> None:
        self._configured = configured
        self._cwd = cwd
        self._connections: dict[str, _Connection] = {}

    def find_tools(self, wanted: Sequence[str]) -> Iterator[Tool | str]:
        """Yield the tools with these names (`mcp__SERVER` is all of one server), and a message per missing server."""
        names = {name.removeprefix(PREFIX).partition("__")[0] for name in wanted if name.startswith(PREFIX)}
        for name in sorted(names):
            if name not in self._configured:
                yield f"the preset asks for the MCP server {name}, which is not in your configuration"
                continue
            try:
                tools = self._connect(name).tools
            except (SegueError, ToolFailedError) as error:
                yield f"the MCP server {name} is not available: {error}"
                continue
            for tool in tools:
                if any(one == f"{PREFIX}{name}" or fnmatchcase(tool.spec.name, one) for one in wanted):
                    yield tool

    def close(self) -> None:
        while self._connections:
            self._connections.popitem()[1].close()

    def _connect(self, name: str) -> _Connection:
        if name not in self._connections:
            self._connections[name] = _Connection(name, self._configured[name], self._cwd)
        return self._connections[name]


class _McpInvocation(Struct, frozen=True):
    """A call of a tool on a server."""

    connection: _Connection
    tool: str
    arguments: JsonObject

    @property
    def request(self) -> PermissionRequest | None:
        return None

    def run(self, context: ToolContext, path: str) -> str:
        del path
        return clip(self.connection.call(self.tool, self.arguments, context.timeout_seconds), context.limit)


class _Connection:
    """A connection to one server, in a thread of its own."""

    def __init__(self, name: str, server: McpServer, cwd: str) -> None:
        if find_spec("mcp") is None:
            raise MissingExtraError("the client library for MCP", extra="mcp")
        self._name = name
        self._server = server
        self._cwd = cwd
        self._client: concurrent.futures.Future[Client] = concurrent.futures.Future()
        self._loop = asyncio.new_event_loop()
        self._may_end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._thread = Thread(target=self._run, name=f"mcp {name}", daemon=True)
        self._thread.start()

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        try:
            listed = self._wait(_list_tools(self._client.result(START_SECONDS)), START_SECONDS)
        except TimeoutError:
            self.close()
            raise ToolFailedError(f"it did not answer within {START_SECONDS:g} seconds") from None
        except BaseException:
            self.close()
            raise
        by_name = {tool.spec.name: tool for tool in map(self._make_tool, listed)}
        return tuple(by_name.values())

    def call(self, tool: str, arguments: JsonObject, timeout_seconds: float) -> str:
        if not self._thread.is_alive():
            raise ToolFailedError(f"the MCP server {self._name} has ended")
        result = self._wait(self._client.result(0).call_tool(tool, arguments), timeout_seconds)
        text = "\n".join(_texts(result))
        if result.is_error:
            raise ToolFailedError(text or "it failed without a message")
        return text or "[no output]"

    def close(self) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join(START_SECONDS)

    def _end(self) -> None:
        self._may_end.set()
        if not self._client.done() and self._task is not None:
            self._task.cancel()

    def _make_tool(self, tool: ListedTool) -> Tool:
        name = _INVALID.sub("_", f"{PREFIX}{self._name}__{tool.name}")[:_NAME_LENGTH]
        spec = ToolSpec(name=name, description=tool.description or tool.name, parameters=dict(tool.input_schema))
        is_read_only = tool.annotations is not None and tool.annotations.read_only_hint is True
        return Tool(
            spec=spec, may_change=not is_read_only, parse=lambda arguments: _McpInvocation(self, tool.name, arguments)
        )

    def _wait(self, work: Coroutine[object, object, T], timeout_seconds: float) -> T:
        """Wait for the result. When the wait ends, also by Ctrl-C, the work is cancelled."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_seconds)
        except concurrent.futures.TimeoutError:
            raise ToolFailedError(f"no answer within {timeout_seconds:g} seconds") from None
        except Exception as error:  # noqa: BLE001 - any error of the library or the server
            raise ToolFailedError(f"{type(error).__name__}: {error}") from None
        finally:
            future.cancel()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._keep_open())
        except BaseException as error:  # noqa: BLE001 - passed to the thread that waits, if any
            if not self._client.done():
                self._client.set_exception(ToolFailedError(_reason(error)))

    async def _keep_open(self) -> None:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        self._task = asyncio.current_task()
        if self._server.url:
            client = Client(self._server.url)
        else:
            started = StdioServerParameters(
                command=self._server.command, args=list(self._server.args), env=self._server.env, cwd=self._cwd
            )
            # Its stderr would appear in the middle of the conversation. Any descriptor is accepted here.
            client = Client(stdio_client(started, errlog=cast("TextIO", subprocess.DEVNULL)))
        async with client:
            self._client.set_result(client)
            await self._may_end.wait()


async def _list_tools(client: Client) -> list[ListedTool]:
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _texts(result: CallToolResult) -> Iterator[str]:
    for block in result.content:
        match block.type:
            case "text":
                yield block.text
            case "resource" if hasattr(block.resource, "text"):
                yield block.resource.text
            case other:
                yield f"[{other.replace('_', ' ')}, not shown]"


def _reason(error: BaseException) -> str:
    """The message of the first error in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
