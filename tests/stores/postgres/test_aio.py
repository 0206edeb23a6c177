"""The library for async callers on a store in Postgres: it blocks no event loop, and opens few connections."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import segue.aio
from segue.stores.postgres.connections import _MOST_CONNECTIONS
from tests.support.postgres import DATABASE
from tests.support.postgres_proxy import LoopbackProxy

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

SESSIONS, TURNS = 50, 3


def test_fifty_sessions_at_once_share_the_connections(postgres_server: PostgresServer, postgres_schema: str) -> None:
    role = f"{postgres_schema}_few"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT {_MOST_CONNECTIONS}")
    postgres_server.execute(f"GRANT CREATE ON DATABASE {DATABASE} TO {role}")

    async def talk(library: segue.aio.AsyncLibrary) -> None:
        async with library.create(agent="qa") as session:
            for number in range(TURNS):
                await session.add("user", f"turn {number}")

    async def talk_all() -> list[segue.Head]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(SESSIONS))
        library = segue.aio.open(postgres_server.url(postgres_schema, user=role))
        await asyncio.gather(*(talk(library) for _ in range(SESSIONS)))
        found = await library.list()
        await library.close()
        return found

    try:
        heads = asyncio.run(talk_all())
    finally:
        postgres_server.execute(f"DROP OWNED BY {role} CASCADE")
        postgres_server.execute(f"DROP ROLE {role}")
    assert [(head.turn_count, head.status) for head in heads] == [(TURNS, "paused")] * SESSIONS


def test_a_server_that_does_not_answer_does_not_stop_the_loop(
    postgres_server: PostgresServer, postgres_schema: str
) -> None:
    async def talk(network: LoopbackProxy) -> list[str]:
        library = segue.aio.open(network.url(postgres_schema))
        async with library.create(agent="qa") as session:
            network.hold()
            pending = asyncio.ensure_future(session.add("user", "sent into silence"))
            async with segue.aio.open("memory:").create(agent="other") as other:
                await other.add("user", "meanwhile")
            assert not pending.done()
            network.resume()
            await pending
            turns = [turn.content for turn in await session.turns()]
        await library.close()
        return turns

    with LoopbackProxy(postgres_server) as network:
        assert asyncio.run(talk(network)) == ["sent into silence"]
