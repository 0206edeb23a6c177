"""Transcripts such as the CLI writes: with split answers, parallel calls, attachments, forks and repetitions."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, cast

import anyio

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random
    from typing import Any

    from claude_agent_sdk import SessionKey, SessionStore, SessionStoreEntry

    Entry = dict[str, Any]

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAkPn/Afnh+ngAAAAASUVORK5CYII="
KEY: SessionKey = {"project_key": "p", "session_id": "s"}
SUBAGENT: SessionKey = {**KEY, "subpath": "subagents/agent-1"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}


def append(store: SessionStore, entries: Sequence[Entry], key: SessionKey = KEY) -> None:
    anyio.run(store.append, key, cast("list[SessionStoreEntry]", list(entries)))


def load(store: SessionStore, key: SessionKey = KEY) -> list[Entry]:
    return cast("list[Entry]", anyio.run(store.load, key) or [])


class Conversation:
    """Each method adds entries; `tip` is the one that the next follows."""

    def __init__(self, *, prefix: str = "u", is_sidechain: bool = False) -> None:
        self.entries: list[Entry] = []
        self.tip: str | None = None
        self._prefix = prefix
        self._is_sidechain = is_sidechain
        self._numbers = count(1)

    def add(self, kind: str, *, parent: str | None = None, **fields: object) -> str:
        number = next(self._numbers)
        uuid = f"{self._prefix}{number}"
        entry: Entry = {"parentUuid": parent or self.tip, "isSidechain": self._is_sidechain, "type": kind, **fields}
        entry |= {"uuid": uuid, "timestamp": f"2026-01-02T03:{number // 60 % 60:02}:{number % 60:02}.678Z"}
        self.entries.append(entry)
        self.tip = uuid
        return uuid

    def note(self, kind: str, **fields: object) -> None:
        """An entry without a uuid."""
        self.entries.append({"type": kind, **fields})

    def say(self, content: object) -> str:
        return self.add("user", message={"role": "user", "content": content})

    def answer(self, message: str, *blocks: Entry, tokens: int = 7) -> list[str]:
        """An answer, in one entry for each block."""
        usage = {"input_tokens": 11, "output_tokens": tokens}
        shared = {"id": message, "role": "assistant", "model": "m-1", "usage": usage}
        return [self.add("assistant", message={**shared, "content": [block]}) for block in blocks]

    def result(self, call: str, text: str, *, parent: str | None = None) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.add("user", parent=parent, message={"role": "user", "content": [block]}, toolUseResult=text)


def text(said: str) -> Entry:
    return {"type": "text", "text": said}


def thought(said: str) -> Entry:
    return {"type": "thinking", "thinking": said, "signature": "s"}


def call(id: str, **given: object) -> Entry:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": given}


def made_up(chance: Random, rounds: int) -> list[Entry]:
    """A conversation of so many rounds, some of which go back to an earlier one."""
    made = Conversation()
    answers: list[str] = []
    for number in range(rounds):
        if answers and chance.random() < 0.2:
            made.tip = chance.choice(answers)
        made.say(f"prompt {number}" if chance.random() < 0.8 else [text(f"look {number}"), IMAGE])
        for kind in chance.choices(["file", "date", "news"], k=chance.randint(0, 3)):
            made.add(
                "attachment", attachment={"type": kind, "content": f"{kind} {number} {'x' * chance.choice([0, 200])}"}
            )
        if chance.random() < 0.5:
            calls = [f"c{number}-{at}" for at in range(chance.randint(1, 3))]
            uuids = made.answer(f"m{number}", thought("hm"), *(call(one, command="ls " * 50) for one in calls))
            if chance.random() < 0.5:
                made.note("mode", mode="normal")
            for one, uuid in zip(calls, uuids[1:], strict=True):
                made.result(one, f"result of {one}\n{'y' * chance.choice([0, 300, 70_000])}", parent=uuid)
        if chance.random() < 0.2:
            made.add(
                "assistant", isSidechain=True, agentId="a1", message={"id": f"s{number}", "content": [text("aside")]}
            )
            made.tip = made.entries[-1]["parentUuid"]
        answers += made.answer(f"n{number}", thought("so"), text(f"answer {number}"))[1:]
        made.note("last-prompt", lastPrompt=f"prompt {number}", leafUuid=made.tip)
        if chance.random() < 0.3:
            made.add("system", subtype="local_command", content="<command-name>/cost</command-name>")
            made.entries.append(dict(chance.choice([one for one in made.entries if "uuid" in one])))
    return made.entries
