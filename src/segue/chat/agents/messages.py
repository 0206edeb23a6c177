"""The window of a conversation as providers want it: the user and the assistant take turns, and the user begins.

Tool calls stay structured where call and result are both there and next to each other; every provider refuses a request
with half of a pair. Calls and results without their counterpart are sent as text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from segue.chat.agent import TextDelta
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.chat.agent import Message
    from segue.model import JsonObject


_SURROGATES = re.compile("[\ud800-\udfff]")


class Result(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    content: str
    is_error: bool = False


Block = TextDelta | ToolCall | Result


class ProviderTurn(Struct, frozen=True):
    """All messages of one side before the next message of the other."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


class Calls:
    """Calls as they stream: the first piece of each has its id and name, and every piece some of its arguments."""

    def __init__(self) -> None:
        self._found: list[tuple[ToolCall, list[str]]] = []
        self._by_index: dict[int, tuple[ToolCall, list[str]]] = {}

    def add(self, index: int, *, id: str | None = None, name: str | None = None, arguments: str | None = None) -> None:
        known = self._by_index.get(index)
        if known is None or (id and id != known[0].id):  # some servers give every call the same index
            known = (ToolCall(id=id or "", name=name or "", arguments={}), [])
            self._by_index[index] = known
            self._found.append(known)
        known[1].append(arguments or "")

    def __iter__(self) -> Iterator[ToolCall]:
        return (replace(call, arguments=arguments_of("".join(pieces) or None)) for call, pieces in self._found)


def take_turns(messages: Iterable[Message]) -> list[ProviderTurn]:
    """Neighbours of one role become one turn; tool results and notes in between belong to the user's side."""
    turns: list[ProviderTurn] = []
    for message in messages:
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        blocks = tuple(_blocks(message))
        if not blocks:
            continue
        if turns and turns[-1].role == role:
            turns[-1] = ProviderTurn(role, (*turns[-1].blocks, *blocks))
        else:
            turns.append(ProviderTurn(role, blocks))
    if turns and turns[0].role == "assistant":
        turns.insert(0, ProviderTurn("user", (TextDelta("[The conversation begins with the assistant.]"),)))
    return _paired(turns)


def calls_as_text(message: Message) -> str:
    """A message as plain text, its tool calls and results included."""
    return "\n".join(_said(block) for block in _blocks(message))


def sendable_text(text: str) -> str:
    """The same without lone surrogates, which a record may contain and no encoding takes."""
    return _SURROGATES.sub("\ufffd", text)


def called_names(turns: Iterable[ProviderTurn]) -> list[str]:
    """The tools that are called in these turns, each once, in the order of their first call."""
    calls = (block for turn in turns for block in turn.blocks if isinstance(block, ToolCall))
    return list(dict.fromkeys(call.name for call in calls))


def _blocks(message: Message) -> Iterable[Block]:
    structured: list[Block] = []
    for part in message.parts:
        match part.get("type"):
            case "tool_call":
                arguments, signature = arguments_of(part.get("arguments")), _as_text(part.get("signature"))
                structured.append(ToolCall(id=_id(part), name=_name(part), arguments=arguments, signature=signature))
            case "tool_result":
                content, is_error = part.get("content", message.content), part.get("is_error") is True
                structured.append(Result(id=_id(part), name=_name(part), content=_as_text(content), is_error=is_error))
            case "image":
                structured.append(TextDelta(f"[an image that is not sent: {part.get('hash', 'without a name')}]"))
    # The text of a message with results repeats the same results for readers.
    is_told = message.content.strip() and not any(isinstance(block, Result) for block in structured)
    return [TextDelta(sendable_text(message.content)), *structured] if is_told else structured


def _paired(turns: list[ProviderTurn]) -> list[ProviderTurn]:
    """Calls without a result in the next turn, and results without a call in the one before, become text."""
    paired: list[ProviderTurn] = []
    for place, turn in enumerate(turns):
        before = turns[place - 1].blocks if place else ()
        after = turns[place + 1].blocks if place + 1 < len(turns) else ()
        calls = {block.id: block.name for block in before if isinstance(block, ToolCall)}
        answered = {block.id for block in after if isinstance(block, Result)}
        results: list[Block] = []
        others: list[Block] = []
        for block in turn.blocks:
            match block:
                case Result() if block.id in calls:
                    # A second result of the same call would be refused.
                    results.append(replace(block, name=calls.pop(block.id)))
                case ToolCall() if block.id in answered:
                    others.append(block)
                case _:
                    others.append(TextDelta(_said(block)))
        paired.append(
            ProviderTurn(turn.role, (*results, *others))
        )  # results first: they belong to the calls just before
    return paired


def _said(block: Block) -> str:
    match block:
        case TextDelta():
            return block.text
        case ToolCall():
            return f"[called {block.name} with {msgspec.json.encode(block.arguments).decode()}]"
        case Result():
            return f"[result of {block.name}: {block.content}]"


def _id(part: JsonObject) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(part.get("id", ""))) or "call"


def _name(part: JsonObject) -> str:
    """What every provider accepts as the name of a tool."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(part.get("name") or "tool"))[:64]


def arguments_of(value: object) -> JsonObject:
    """The arguments as an object; any other value becomes its `input`."""
    if not isinstance(value, str):
        value = _as_text(value) or "{}"
    try:
        decoded: object = msgspec.json.decode(sendable_text(value))
    except (msgspec.DecodeError, RecursionError):
        decoded = sendable_text(value)
    return decoded if isinstance(decoded, dict) else {"input": decoded}


def _as_text(value: object) -> str:
    """A text as it is; of any other value its JSON."""
    if value is None or isinstance(value, str):
        return sendable_text(value or "")
    return sendable_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
