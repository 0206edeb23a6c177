from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING

import pytest

from segue import aio
from segue.aio import AsyncLibrary, AsyncSession
from segue.errors import NotFoundError
from segue.library import Library
from segue.model import Turn
from segue.session import LiveSession

if TYPE_CHECKING:
    from pathlib import Path


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_the_async_face_has_every_method() -> None:
    assert public(LiveSession) - {"agent", "store", "title"} <= public(AsyncSession)
    assert public(Library) - {"follower", "stream"} <= public(AsyncLibrary)


def test_a_session_can_be_held_by_async_code(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(f"journal:{tmp_path}") as lib:
            async with lib.create(id="x") as session:
                await session.add("user", "one")
                await session.fork(at=1, name="b")
                assert session.branch == "b"
                assert [turn.content for turn in await session.turns()] == ["one"]
                assert [turn.content async for turn in session.iter_first(3)] == ["one"]
            async with await lib.resume("x") as session:
                assert session.status == "active"
            assert [head.status for head in await lib.list()] == ["paused"]
            async with lib.resume("x") as session, session:
                assert session.status == "active"
            assert (await lib.load("x")).turn_count == 1
            assert [found.session_id for found in await lib.search("one")] == ["x"]
            assert await lib.find_record("one") is None
            with pytest.raises(NotFoundError):
                await lib.open("y")
            with pytest.raises(NotFoundError):
                async with lib.open("y"):
                    pass

    asyncio.run(main())


def test_an_exception_in_the_block_leaves_it_interrupted(tmp_path: Path) -> None:
    async def main() -> None:
        lib = aio.open(f"journal:{tmp_path}")
        with pytest.raises(ZeroDivisionError):
            async with lib.create(id="x"):
                _ = 1 / 0
        assert (await lib.load("x")).status == "interrupted"

    asyncio.run(main())


def test_a_session_can_be_awaited_and_closed_by_hand(tmp_path: Path) -> None:
    async def main() -> None:
        lib = aio.open(f"journal:{tmp_path}")
        opening = lib.create(id="x")
        session = await opening
        assert isinstance(session, AsyncSession)
        with pytest.raises(RuntimeError):
            await opening  # a session is opened once
        await session.close()
        async with await lib.resume("x", timeout_seconds=0) as session:
            assert session.status == "active"

    asyncio.run(main())


def test_a_cancelled_opening_releases_the_session(tmp_path: Path) -> None:
    async def main() -> None:
        lib = aio.open(f"journal:{tmp_path}")
        await (await lib.create(id="x")).close()
        begun, go = threading.Event(), threading.Event()
        real = lib.sync.store.open

        def slow(*args: object, **options: object) -> object:
            begun.set()
            go.wait()
            return real(*args, **options)  # type: ignore[arg-type]

        lib.sync.store.open = slow  # type: ignore[method-assign, assignment]

        async def hold() -> None:
            async with lib.open("x"):
                pytest.fail("it was cancelled before")

        task = asyncio.create_task(hold())
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert lib.sync.store.owner("x") is None

    asyncio.run(main())


def test_following_sees_what_is_recorded_meanwhile(tmp_path: Path) -> None:
    async def main() -> list[str]:
        lib = aio.open(f"journal:{tmp_path}")
        session = await lib.create(id="x")
        seen: list[str] = []
        started, complete = asyncio.Event(), asyncio.Event()

        async def follow() -> None:
            async for event in lib.follow("x", after=0, poll_seconds=0.001):
                started.set()
                if isinstance(event, Turn):
                    seen.append(event.content)
                if len(seen) == 2:
                    complete.set()

        task = asyncio.create_task(follow())
        await started.wait()
        await session.add("user", "one")
        await session.add("user", "two")
        await complete.wait()
        await session.close()
        await lib.delete("x")
        await task
        return seen

    assert asyncio.run(main()) == ["one", "two"]


def test_a_write_that_has_begun_is_finished_before_the_cancellation_is_felt(tmp_path: Path) -> None:
    async def main() -> None:
        lib = aio.open(f"journal:{tmp_path}")
        session = await lib.create(id="x")
        begun, go = threading.Event(), threading.Event()
        real = session.sync._writer.append

        def slow(*events: object, **options: object) -> object:
            begun.set()
            go.wait()
            return real(*events, **options)  # type: ignore[arg-type]

        session.sync._writer.append = slow  # type: ignore[method-assign, assignment]
        task = asyncio.create_task(_add(session))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await lib.load("x")).turn_count == 1
        await session.close()

    asyncio.run(main())


async def _add(session: AsyncSession) -> None:
    await session.add("user", "kept")
