"""Adds items to a session that other processes add to at the same time, pair by pair: STORE COUNT PREFIX."""

from __future__ import annotations

import asyncio
import sys

from segue.bridges.openai_agents import SegueSession


async def main(url: str, count: int, prefix: str) -> None:
    session = SegueSession("shared", url)
    for number in range(count):
        text = f"{prefix}{number}"
        await session.add_items([{"role": "user", "content": text}, {"role": "assistant", "content": text}])
        sys.stdout.write(f"ack {text}\n")
        sys.stdout.flush()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
