"""Appends events to one session, as other processes do, and gets it again when it is stale: STORE NAME HOW_MANY."""

from __future__ import annotations

import asyncio
import sys

from google.adk.errors import StaleSessionError

from segue.bridges.google_adk import SegueSessionService
from tests.bridges.google_adk.support import an_event, got


async def main(store: str, name: str, count: int) -> None:
    service = SegueSessionService(store)
    session = await got(service)
    for number in range(count):
        event = an_event(f"{name}-{number}", delta={name: number, f"app:{name}": number})
        while True:
            try:
                await service.append_event(session, event)
            except StaleSessionError:
                session = await got(service)
            else:
                break
        sys.stdout.write(f"ack {event.id}\n")
        sys.stdout.flush()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
