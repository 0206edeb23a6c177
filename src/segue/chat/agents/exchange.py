"""The window of a conversation as providers want it: the user and the assistant take turns, and the user begins.

Tool calls stay structured where call and result are both there and next to each other; every provider refuses a request
with half of a pair. What is left over is told in words.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from segue.chat.agent import Text
from segue.model import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.chat.agent import Message


_SURROGATES = re.compile("[\ud800-\udfff]")


class Call(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    arguments: JsonObject


class Result(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    content: str


Block = Text | Call | Result


class Turn(Struct, frozen=True):
    """All that one side says before the other does."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


def take_turns(messages: Iterable[Message]) -> list[Turn]:
    """Neighbours of one role become one turn; tool results and notes in between belong to the user's side."""
    turns: list[Turn] = []
    for message in messages:
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        blocks = tuple(_blocks(message))
        if not blocks:
            continue
        if turns and turns[-1].role == role:
            turns[-1] = Turn(role, (*turns[-1].blocks, *blocks))
        else:
            turns.append(Turn(role, blocks))
    if turns and turns[0].role == "assistant":
        turns.insert(0, Turn("user", (Text("[The conversation begins with the assistant.]"),)))
    return _paired(turns)


def in_words(message: Message) -> str:
    """A message as plain text, its tool calls and results included."""
    return "\n".join(_said(block) for block in _blocks(message))


def sendable(text: str) -> str:
    """The same without lone surrogates, which a record may hold and no encoding takes."""
    return _SURROGATES.sub("\ufffd", text)


def called_names(turns: Iterable[Turn]) -> list[str]:
    """The tools that are called in these turns, each once, in the order of their first call."""
    calls = (block for turn in turns for block in turn.blocks if isinstance(block, Call))
    return list(dict.fromkeys(call.name for call in calls))


def _blocks(message: Message) -> Iterable[Block]:
    structured: list[Block] = []
    for part in message.parts:
        match part.get("type"):
            case "tool_call":
                structured.append(Call(id=_id(part), name=_name(part), arguments=_arguments(part.get("arguments"))))
            case "tool_result":
                structured.append(Result(id=_id(part), name=_name(part), content=_as_text(part.get("content"))))
            case "image":
                structured.append(Text(f"[an image that is not sent: {part.get('hash', 'without a name')}]"))
    # The text of a message that brings results is what people read of the same results.
    is_told = message.content.strip() and not any(isinstance(block, Result) for block in structured)
    return [Text(sendable(message.content)), *structured] if is_told else structured


def _paired(turns: list[Turn]) -> list[Turn]:
    """Calls without a result in the next turn, and results without a call in the one before, become words."""
    paired: list[Turn] = []
    for place, turn in enumerate(turns):
        before = turns[place - 1].blocks if place else ()
        after = turns[place + 1].blocks if place + 1 < len(turns) else ()
        calls = {block.id: block.name for block in before if isinstance(block, Call)}
        answered = {block.id for block in after if isinstance(block, Result)}
        results: list[Block] = []
        others: list[Block] = []
        for block in turn.blocks:
            match block:
                case Result() if block.id in calls:
                    # A second result of the same call would be refused.
                    results.append(Result(id=block.id, name=calls.pop(block.id), content=block.content))
                case Call() if block.id in answered:
                    others.append(block)
                case _:
                    others.append(Text(_said(block)))
        paired.append(Turn(turn.role, (*results, *others)))  # results first: they answer what was said just before
    return paired


def _said(block: Block) -> str:
    match block:
        case Text():
            return block.text
        case Call():
            return f"[called {block.name} with {msgspec.json.encode(block.arguments).decode()}]"
        case Result():
            return f"[result of {block.name}: {block.content}]"


def _id(part: JsonObject) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(part.get("id", ""))) or "call"


def _name(part: JsonObject) -> str:
    """What every provider accepts as the name of a tool."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(part.get("name") or "tool"))[:64]


def _arguments(value: object) -> JsonObject:
    if not isinstance(value, str):
        value = _as_text(value) or "{}"
    try:
        decoded: object = msgspec.json.decode(sendable(value))
    except msgspec.DecodeError:
        decoded = sendable(value)
    return decoded if isinstance(decoded, dict) else {"input": decoded}


def _as_text(value: object) -> str:
    """A text as it is; of any other value its JSON."""
    if value is None or isinstance(value, str):
        return sendable(value or "")
    return sendable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
