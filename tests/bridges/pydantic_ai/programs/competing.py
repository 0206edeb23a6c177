"""Adds messages to one conversation that others add to as well: STORE NAME COUNT. After a conflict it tries again."""

from __future__ import annotations

import asyncio
import sys

from pydantic_ai import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelRequest, UserPromptPart

from segue.bridges.pydantic_ai import SegueConversationStore


async def main(url: str, name: str, count: int) -> None:
    store = SegueConversationStore(url)
    for number in range(count):
        text = f"{name}-{number}"
        while True:
            conversation = await store.load("shared", limit=1) or Conversation(conversation_id="shared")
            conversation.messages.append(ModelRequest(parts=[UserPromptPart(text)]))
            try:
                await store.save(conversation)
            except ConversationConflict:
                continue
            break
        sys.stdout.write(f"ack {text}\n")
        sys.stdout.flush()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
