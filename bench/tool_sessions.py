"""Session files as AI tools write them, of any size: prompts, and for each a few calls with long results."""

from __future__ import annotations

import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

from bench.workload import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RARE = "zirconium"
"""A word in the arguments of one call of each session."""
FOLDER = "/home/person/project"
_STEPS = ("user", "call", "result", "call", "result", "call", "result", "answer")
_RESULT_TEXTS = 48
_BEGAN = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
Record = dict[str, object]


class Step:
    """One message of the conversation, for any tool."""

    def __init__(self, number: int, rng: random.Random) -> None:
        self.kind = _STEPS[number % len(_STEPS)]
        self.number = number
        self.id = str(uuid.UUID(int=rng.getrandbits(128)))
        pieces = _RESULT_TEXTS if self.kind == "result" else 2
        self.text = "\n".join(texts()[rng.randrange(len(texts()))] for _ in range(pieces))
        self.command = f"grep {RARE} notes.md" if number == 1 else f"cat notes-{number}.md"
        self.call_id = f"call_{number - (self.kind == 'result')}"
        self.moment = f"{(_BEGAN + timedelta(seconds=number)).isoformat(timespec='milliseconds')[:-6]}Z"


def steps(seed: int) -> Iterator[Step]:
    rng = random.Random(seed)
    return (Step(number, rng) for number in count())


def write_session(home: Path, tool: str, size: int, *, seed: int = 7) -> str:
    """Write a session of at least this many bytes, and return its id."""
    id = str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4))
    folder, make = _TOOLS[tool]
    path = home / folder.format(id=id)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("wb") as file:
        for record in make(id, seed):
            written += file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            if written >= size:
                break
    return id


def _claude(id: str, seed: int) -> Iterator[Record]:
    parent: str | None = None
    for step in steps(seed):
        message: Record = {"role": "user", "content": step.text}
        if step.kind == "result":
            message["content"] = [{"type": "tool_result", "tool_use_id": step.call_id, "content": step.text}]
        elif step.kind != "user":
            usage = {"input_tokens": 9, "output_tokens": 7, "cache_read_input_tokens": 20_000}
            call: Record = {"type": "tool_use", "id": step.call_id, "name": "Bash", "input": {"command": step.command}}
            said = call if step.kind == "call" else {"type": "text", "text": step.text}
            message = {"id": f"msg_{step.number}", "role": "assistant", "model": "m", "content": [said], "usage": usage}
        record: Record = {"parentUuid": parent, "isSidechain": False, "type": message["role"], "message": message}
        record |= {"uuid": step.id, "timestamp": step.moment, "userType": "external", "cwd": FOLDER, "sessionId": id}
        yield record | {"version": "2.1.325", "gitBranch": "main"}
        parent = step.id


def _codex(id: str, seed: int) -> Iterator[Record]:
    meta: Record = {"id": id, "timestamp": "2026-01-05T09:30:00.000Z", "cwd": FOLDER, "originator": "codex_exec"}
    meta |= {"cli_version": "0.166.0", "source": "exec", "model_provider": "openai", "git": {"branch": "main"}}
    yield {"timestamp": meta["timestamp"], "type": "session_meta", "payload": meta}
    for step in steps(seed):
        yield {"timestamp": step.moment, "type": "response_item", "payload": _codex_item(step)}
        if step.kind == "answer":
            used = {"input_tokens": 20_009, "cached_input_tokens": 20_000, "output_tokens": 7, "total_tokens": 20_016}
            info = {"total_token_usage": used, "last_token_usage": used, "model_context_window": 258_400}
            yield {"timestamp": step.moment, "type": "event_msg", "payload": {"type": "token_count", "info": info}}


def _codex_item(step: Step) -> Record:
    if step.kind == "call":
        arguments = json.dumps({"command": ["bash", "-lc", step.command]})
        return {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": step.call_id}
    if step.kind == "result":
        return {"type": "function_call_output", "call_id": step.call_id, "output": step.text}
    role, kind = ("user", "input_text") if step.kind == "user" else ("assistant", "output_text")
    return {"type": "message", "id": f"msg_{step.id}", "role": role, "content": [{"type": kind, "text": step.text}]}


def _pi(id: str, seed: int) -> Iterator[Record]:
    yield {"type": "session", "version": 3, "id": id, "timestamp": "2026-01-05T09:30:00.000Z", "cwd": FOLDER}
    parent: str | None = None
    for step in steps(seed):
        text = [{"type": "text", "text": step.text}]
        message: Record = {"role": "user", "content": text}
        if step.kind == "result":
            message = {"role": "toolResult", "toolCallId": step.call_id, "toolName": "bash", "content": text}
        elif step.kind != "user":
            usage = {"input": 9, "output": 7, "cacheRead": 20_000, "cacheWrite": 0, "cost": {"total": 0.001}}
            call = {"type": "toolCall", "id": step.call_id, "name": "bash", "arguments": {"command": step.command}}
            message = {"role": "assistant", "content": [call] if step.kind == "call" else text, "usage": usage}
            message |= {"api": "anthropic-messages", "provider": "anthropic", "model": "m", "stopReason": "stop"}
        yield {"type": "message", "id": step.id, "parentId": parent, "timestamp": step.moment, "message": message}
        parent = step.id


def _gemini(id: str, seed: int) -> Iterator[Record]:
    began = "2026-01-05T09:30:00.000Z"
    yield {"sessionId": id, "projectHash": "16f2", "startTime": began, "lastUpdated": began, "kind": "main"}
    call: Record = {}
    command = ""
    for step in steps(seed):
        common: Record = {"id": step.id, "timestamp": step.moment}
        tokens = {"input": 20_009, "output": 7, "cached": 20_000, "thoughts": 2, "tool": 0, "total": 20_016}
        answer: Record = {"type": "gemini", "thoughts": [], "tokens": tokens, "model": "m"}
        if step.kind == "user":
            yield common | {"type": "user", "content": [{"text": step.text}]}
        elif step.kind == "answer":
            yield common | answer | {"content": step.text}
        elif step.kind == "call":
            call, command = common | answer | {"content": ""}, step.command
            call["toolCalls"] = [{"id": step.call_id, "name": "shell", "args": {"command": step.command}}]
        else:
            response: Record = {
                "functionResponse": {"id": step.call_id, "name": "shell", "response": {"output": step.text}}
            }
            done: Record = {"id": step.call_id, "name": "shell", "args": {"command": command}}
            done |= {"status": "success", "timestamp": step.moment, "result": [response]}
            yield call | {"toolCalls": [done]}
            yield common | {"type": "user", "content": [response]}
        yield {"$set": {"lastUpdated": step.moment}}


_TOOLS: dict[str, tuple[str, Callable[[str, int], Iterator[Record]]]] = {
    "claude": (".claude/projects/-home-person-project/{id}.jsonl", _claude),
    "codex": (".codex/sessions/2026/01/05/rollout-2026-01-05T09-30-00-{id}.jsonl", _codex),
    "pi": (".pi/agent/sessions/--home-person-project--/2026-01-05T09-30-00-000Z_{id}.jsonl", _pi),
    "gemini": (".gemini/tmp/project/chats/session-2026-01-05T09-30-{id}.jsonl", _gemini),
}
TOOLS = tuple(_TOOLS)
