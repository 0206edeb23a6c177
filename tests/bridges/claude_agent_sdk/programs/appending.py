"""Appends a chain of messages to a session: STORE HOW_MANY PREFIX. It goes on after the last one that is stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

import anyio

from segue.bridges.claude_agent_sdk import SegueSessionStore

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry

KEY: SessionKey = {"project_key": "p", "session_id": "s"}


async def main(url: str, count: int, prefix: str) -> None:
    store = SegueSessionStore(url)
    stored = [str(entry.get("uuid", "")) for entry in await store.load(KEY) or []]
    start = sum(uuid.startswith(prefix) for uuid in stored)
    for number in range(max(0, start - 1), count):  # the last one again: it may be known already
        message = {"content": f"{prefix}{number}"}
        parent = f"{prefix}{number - 1}" if number else None
        entry = {"type": "user", "uuid": f"{prefix}{number}", "parentUuid": parent, "message": message}
        note = {"type": "mode", "of": f"{prefix}{number}"}
        batch = [entry] if number < start else [entry, note]
        await store.append(KEY, cast("list[SessionStoreEntry]", batch))
        sys.stdout.write(f"ack {prefix}{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), sys.argv[3])
