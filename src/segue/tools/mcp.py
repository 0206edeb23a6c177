"""The abilities of MCP servers, through the official client library (`segue[mcp]`).

A server is started when it is first needed, in a thread where its event loop runs, and ends when it is closed. Which
servers there are is for the user's own configuration to say: whoever names one chooses what runs on this machine.
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
from segue.tools.tool import PermissionRequest, Tool, ToolContext, clipped

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
"""No provider takes a longer name of a tool."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")


class McpServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a server is reached: a command that is started here, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Beside the least that a command needs."""
    url: str = ""


def server_of(name: str, table: object) -> McpServer:
    """What a configuration says of one server. UsageError if that makes no sense."""
    hint = 'for example command = "notes-server", with args = [...] and env = {...}; or url = "http://..."'
    if re.fullmatch(r"(?!.*__)[A-Za-z0-9_-]+", name) is None:
        raise UsageError(f"an MCP server is called by letters, digits and dashes, not {name!r}", hint=hint)
    try:
        server = msgspec.convert(table, McpServer)
    except msgspec.ValidationError as error:
        raise UsageError(f"the MCP server {name} is described wrongly: {error}", hint=hint) from None
    if bool(server.command) == bool(server.url):
        raise UsageError(f"the MCP server {name} has a command or a url, and one of them only", hint=hint)
    return server


class McpServers:
    """All that are configured. Nothing is started, and the library not even loaded, before somebody is asked for."""

    def __init__(self, configured: Mapping[str, McpServer], *, cwd: str) -> None:
        self._configured = configured
        self._cwd = cwd
        self._open: dict[str, _Connection] = {}

    def abilities(self, wanted: Sequence[str]) -> Iterator[Tool | str]:
        """Those that the names ask for, `mcp__SERVER` for all of one; in words what cannot be had."""
        names = {name.removeprefix(PREFIX).partition("__")[0] for name in wanted if name.startswith(PREFIX)}
        for name in sorted(names):
            if name not in self._configured:
                yield f"the preset asks for the MCP server {name}, which your configuration does not name"
                continue
            try:
                found = self._connection(name).abilities
            except (SegueError, ToolFailedError) as error:
                yield f"the MCP server {name} is not there: {error}"
                continue
            for ability in found:
                called = ability.offer.name
                if any(one == f"{PREFIX}{name}" or fnmatchcase(called, one) for one in wanted):
                    yield ability

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _connection(self, name: str) -> _Connection:
        if name not in self._open:
            self._open[name] = _Connection(name, self._configured[name], self._cwd)
        return self._open[name]


class _McpJob(Struct, frozen=True):
    connection: _Connection
    tool: str
    arguments: JsonObject

    @property
    def wish(self) -> PermissionRequest | None:
        return None

    def run(self, room: ToolContext, place: str) -> str:
        del place
        return clipped(self.connection.call(self.tool, self.arguments, room.timeout_seconds), room.limit)


class _Connection:
    """To one server, from a thread of its own."""

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
    def abilities(self) -> tuple[Tool, ...]:
        try:
            tools = self._wait(_list(self._client.result(START_SECONDS)), START_SECONDS)
        except TimeoutError:
            self.close()
            raise ToolFailedError(f"it did not answer within {START_SECONDS:g} seconds") from None
        except BaseException:
            self.close()
            raise
        found = {ability.offer.name: ability for ability in map(self._tool, tools)}
        return tuple(found.values())

    def call(self, tool: str, arguments: JsonObject, timeout_seconds: float) -> str:
        if not self._thread.is_alive():
            raise ToolFailedError(f"the MCP server {self._name} has ended")
        result = self._wait(self._client.result(0).call_tool(tool, arguments), timeout_seconds)
        text = "\n".join(_words(result))
        if result.is_error:
            raise ToolFailedError(text or "it failed, and did not say why")
        return text or "[it says nothing]"

    def close(self) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join(START_SECONDS)

    def _end(self) -> None:
        self._may_end.set()
        if not self._client.done() and self._task is not None:
            self._task.cancel()

    def _tool(self, tool: ListedTool) -> Tool:
        name = _ODD.sub("_", f"{PREFIX}{self._name}__{tool.name}")[:_NAME_LENGTH]
        offer = ToolSpec(name=name, description=tool.description or tool.name, parameters=dict(tool.input_schema))
        reads = tool.annotations is not None and tool.annotations.read_only_hint is True
        return Tool(offer=offer, changes=not reads, read=lambda arguments: _McpJob(self, tool.name, arguments))

    def _wait(self, work: Coroutine[object, object, T], timeout_seconds: float) -> T:
        """Until it is done; whoever stops waiting, by Ctrl-C as well, stops the work."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_seconds)
        except concurrent.futures.TimeoutError:
            raise ToolFailedError(f"no answer within {timeout_seconds:g} seconds") from None
        except Exception as error:  # noqa: BLE001 - whatever the library or the server makes of it
            raise ToolFailedError(f"{type(error).__name__}: {error}") from None
        finally:
            future.cancel()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._hold())
        except BaseException as error:  # noqa: BLE001 - told to whoever waits, or nobody does any more
            if not self._client.done():
                self._client.set_exception(ToolFailedError(_reason(error)))

    async def _hold(self) -> None:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        self._task = asyncio.current_task()
        if self._server.url:
            client = Client(self._server.url)
        else:
            started = StdioServerParameters(
                command=self._server.command, args=list(self._server.args), env=self._server.env, cwd=self._cwd
            )
            # What it complains of would land in the middle of the conversation; any descriptor will do here.
            client = Client(stdio_client(started, errlog=cast("TextIO", subprocess.DEVNULL)))
        async with client:
            self._client.set_result(client)
            await self._may_end.wait()


async def _list(client: Client) -> list[ListedTool]:
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _words(result: CallToolResult) -> Iterator[str]:
    for block in result.content:
        match block.type:
            case "text":
                yield block.text
            case "resource" if hasattr(block.resource, "text"):
                yield block.resource.text
            case other:
                yield f"[{other.replace('_', ' ')} that is not shown]"


def _reason(error: BaseException) -> str:
    """The first of those that a group of tasks collected."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
