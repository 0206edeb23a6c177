"""Asks an agent one question after the other, and continues where it was killed: STORE HOW_MANY."""

from __future__ import annotations

import asyncio
import sys
import warnings

from segue.bridges.google_adk import SegueSessionService
from tests.bridges.google_adk.scripted import APP, new_runner, question


async def main(store: str, count: int) -> None:
    service = SegueSessionService(store)
    runner = new_runner(service)
    while True:
        session = await service.get_session(app_name=APP, user_id="ann", session_id="trip")
        events = [event for event in session.events if event.content] if session is not None else []
        asked = sum(event.author == "user" for event in events)
        is_answered = not events or (events[-1].author != "user" and events[-1].is_final_response())
        open_invocation = None if is_answered else events[-1].invocation_id
        if open_invocation is None and asked == count:
            return
        async for event in runner.run_async(
            user_id="ann",
            session_id="trip",
            invocation_id=open_invocation,
            new_message=None if open_invocation else question(f"q{asked}"),
        ):
            sys.stdout.write(f"ack {event.id}\n")
            sys.stdout.flush()


warnings.simplefilter("ignore")
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
