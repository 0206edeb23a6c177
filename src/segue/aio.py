"""The library for async callers: every call runs in a worker thread, and a write that has begun is never abandoned.

lib = segue.aio.open("journal:~/notes")
async with lib.create(agent="qa-test") as session:
await session.add("user", "Why does login fail?")
"""

from __future__ import annotations

import asyncio
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from segue.clock import utc_now
from segue.library import Library
from segue.library import open as open_library
from segue.session import LiveSession
from segue.store import WAIT_SECONDS, Durability

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from segue.model import Event, JsonObject, Overview, Status, Turn

__all__ = ["AsyncLibrary", "AsyncSession", "SessionOpening", "open"]

P = ParamSpec("P")
R = TypeVar("R")


async def _finish(call: Callable[[], R], *, on_cancel: Callable[[R], None] = lambda _: None) -> R:
    """Run a call in a worker thread. A cancelled caller waits for its end; `on_cancel` gets the unused result."""
    work = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError:
                continue  # cancelled again while waiting
        # The caller gets the cancellation instead of an exception of the call.
        if not work.cancelled() and work.exception() is None:
            on_cancel(work.result())
        raise


def _session_call(
    method: Callable[Concatenate[LiveSession, P], R],
) -> Callable[Concatenate[AsyncSession, P], Awaitable[R]]:
    async def call(self: AsyncSession, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _finish(partial(method, self.sync, *args, **kwargs))

    update_wrapper(call, method)
    return call


def _library_call(method: Callable[Concatenate[Library, P], R]) -> Callable[Concatenate[AsyncLibrary, P], Awaitable[R]]:
    async def call(self: AsyncLibrary, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _finish(partial(method, self.sync, *args, **kwargs))

    update_wrapper(call, method)
    return call


class AsyncSession:
    """A LiveSession whose methods are awaited; `sync` is that LiveSession."""

    def __init__(self, sync: LiveSession) -> None:
        self.sync = sync

    @property
    def overview(self) -> Overview:
        return self.sync.overview

    @property
    def id(self) -> str:
        return self.sync.id

    @property
    def status(self) -> Status:
        return self.sync.status

    @property
    def branch(self) -> str:
        return self.sync.branch

    @property
    def is_open(self) -> bool:
        return self.sync.is_open

    async def turns(self) -> tuple[Turn, ...]:
        return await _finish(lambda: self.sync.turns)

    async def iter_first(self, count: int) -> AsyncIterator[Turn]:
        turns = self.sync.iter_first(count)
        while (turn := await _finish(partial(next, turns, None))) is not None:
            yield turn

    tail = _session_call(LiveSession.tail)
    first = _session_call(LiveSession.first)
    get_blob = _session_call(LiveSession.get_blob)
    add = _session_call(LiveSession.add)
    record = _session_call(LiveSession.record)
    rename = _session_call(LiveSession.rename)
    tag = _session_call(LiveSession.tag)
    summarize = _session_call(LiveSession.summarize)
    decide = _session_call(LiveSession.decide)
    learn = _session_call(LiveSession.learn)
    note_pattern = _session_call(LiveSession.note_pattern)
    attach = _session_call(LiveSession.attach)
    put_blob = _session_call(LiveSession.put_blob)
    set_scope = _session_call(LiveSession.set_scope)
    use_preset = _session_call(LiveSession.use_preset)
    set_overrides = _session_call(LiveSession.set_overrides)
    finish_task = _session_call(LiveSession.finish_task)
    fork = _session_call(LiveSession.fork)
    switch = _session_call(LiveSession.switch)
    pause = _session_call(LiveSession.pause)
    complete = _session_call(LiveSession.complete)
    resume = _session_call(LiveSession.resume)
    close = _session_call(LiveSession.close)
    release = _session_call(LiveSession.release)
    reopen = _session_call(LiveSession.reopen)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _finish(partial(self.sync.__exit__, kind, error, trace))


class SessionOpening:
    """A session that is being opened: `await` it, or use it in `async with`."""

    def __init__(self, call: Callable[[], LiveSession]) -> None:
        self._opening = self._open(call)

    @staticmethod
    async def _open(call: Callable[[], LiveSession]) -> AsyncSession:
        return AsyncSession(await _finish(call, on_cancel=LiveSession.release))

    def __await__(self) -> Generator[object, None, AsyncSession]:
        return self._opening.__await__()

    async def __aenter__(self) -> AsyncSession:
        self._session = await self
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.__aexit__(kind, error, trace)


class AsyncLibrary:
    """A Library whose methods are awaited; `sync` is that Library."""

    def __init__(self, sync: Library) -> None:
        self.sync = sync

    load = _library_call(Library.load)
    overview = _library_call(Library.overview)
    tail = _library_call(Library.tail)
    list = _library_call(Library.list)
    find = _library_call(Library.find)
    search = _library_call(Library.search)
    find_record = _library_call(Library.find_record)
    resolve = _library_call(Library.resolve)
    discard = _library_call(Library.discard)
    delete = _library_call(Library.delete)
    has_remains = _library_call(Library.has_remains)
    trashed = _library_call(Library.trashed)
    find_trashed = _library_call(Library.find_trashed)
    restore = _library_call(Library.restore)
    erase = _library_call(Library.erase)
    clean = _library_call(Library.clean)
    verify = _library_call(Library.verify)
    recover = _library_call(Library.recover)
    close = _library_call(Library.close)

    def create(
        self,
        *,
        agent: str = "",
        title: str = "",
        tags: Iterable[str] = (),
        id: str | None = None,
        extra: JsonObject | None = None,
    ) -> SessionOpening:
        """Like `Library.create`."""
        return SessionOpening(partial(self.sync.create, agent=agent, title=title, tags=tags, id=id, extra=extra))

    def open(self, id: str, *, timeout_seconds: float = WAIT_SECONDS) -> SessionOpening:
        """Like `Library.open`."""
        return SessionOpening(partial(self.sync.open, id, timeout_seconds=timeout_seconds))

    def resume(self, id: str, *, force: bool = False, timeout_seconds: float = WAIT_SECONDS) -> SessionOpening:
        """Like `Library.resume`."""
        return SessionOpening(partial(self.sync.resume, id, force=force, timeout_seconds=timeout_seconds))

    async def follow(self, id: str, *, after: int | None = None, poll_seconds: float = 0.1) -> AsyncIterator[Event]:
        """Like `Library.follow`; between polls the event loop is free."""
        follower = await _finish(partial(self.sync.follower, id, after=after))
        while (events := await _finish(follower.poll)) is not None:
            for event in events:
                yield event
            await asyncio.sleep(poll_seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def open(
    url: str | None = None, *, durability: Durability = Durability.SYNCED, clock: Callable[[], datetime] = utc_now
) -> AsyncLibrary:
    """Like `segue.open`, for async callers."""
    return AsyncLibrary(open_library(url, durability=durability, clock=clock))


def __dir__() -> list[str]:
    return __all__
