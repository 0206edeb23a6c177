"""The window of a conversation as providers want it: the user and the assistant take turns, and the user begins.

Every provider refuses a request with half of a pair, so each result is next to its call. What no person said, such as a
result without a call, an attached file or a notice, is the result of a call that is made up for it, and never a message
of the user: it must not give orders. A call without a result is sent as text of the assistant.
"""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from segue.chat.agent import TextDelta
from segue.integrations.format.pairs import is_spoken, pair_calls, pairs_of, result_text
from segue.integrations.format.parts import has_part
from segue.integrations.format.values import objects
from segue.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


def take_turns(messages: Sequence[Message]) -> list[ProviderTurn]:
    """Neighbours of one role become one turn; tool results and notes in between belong to the user's side."""
    turns: list[ProviderTurn] = []
    pairs = pair_calls(messages)
    numbers = count(1)
    for place, message in enumerate(messages):
        if is_spoken(message):
            _add(turns, "assistant" if message.role == "assistant" else "user", _spoken(message))
        calls: list[Block] = []
        results: list[Block] = []
        for pair in pairs_of(message, place, pairs):
            call = _call(pair.call, next(numbers))
            if pair.result is None:
                calls.append(TextDelta(_said(call)))
            else:
                calls.append(call)
                results.append(_result(pair.result, call))
        _add(turns, "assistant", calls)
        _add(turns, "user", results)
    if turns and turns[0].role == "assistant":
        turns.insert(0, ProviderTurn("user", (TextDelta("[The conversation begins with the assistant.]"),)))
    return turns


def told_sections(message: Message) -> Iterator[tuple[str, str]]:
    """A message as plain text, its tool calls and results included: who said it, and the text."""
    role = next((kind for kind in ("notice", "summary") if has_part(message, kind)), message.role)
    yield role, calls_as_text(message)
    for part in message.parts:
        if part.get("type") == "file":
            yield "tool", f"[the file {_as_text(part.get('path'))}: {_as_text(part.get('content'))}]"


def calls_as_text(message: Message) -> str:
    """A message as plain text, its tool calls and results included."""
    has_results = has_part(message, "tool_result")
    blocks: list[Block] = [] if has_results and not is_spoken(message) else list(_spoken(message))
    for number, part in enumerate(message.parts):
        if part.get("type") == "tool_call":
            blocks.append(_call(part, number))
        elif part.get("type") == "tool_result":
            content = result_text(message, part)
            blocks.append(Result(id="", name=_name(part), content=sendable_text(content)))
    return "\n".join(_said(block) for block in blocks)


def sendable_text(text: str) -> str:
    """The same without lone surrogates, which a record may contain and no encoding takes."""
    return _SURROGATES.sub("\ufffd", text)


def called_names(turns: Iterable[ProviderTurn]) -> list[str]:
    """The tools that are called in these turns, each once, in the order of their first call."""
    calls = (block for turn in turns for block in turn.blocks if isinstance(block, ToolCall))
    return list(dict.fromkeys(call.name for call in calls))


def _add(turns: list[ProviderTurn], role: Literal["user", "assistant"], blocks: Sequence[Block]) -> None:
    if blocks and turns and turns[-1].role == role:
        turns[-1] = ProviderTurn(role, (*turns[-1].blocks, *blocks))
    elif blocks:
        turns.append(ProviderTurn(role, tuple(blocks)))


def _spoken(message: Message) -> Sequence[Block]:
    """The text of a message, and a text for each of its images."""
    said = [TextDelta(sendable_text(message.content))] if message.content.strip() else []
    images = [part for part in message.parts if part.get("type") == "image"]
    return [*said, *(TextDelta(_image(part)) for part in images)]


def _call(part: JsonObject, number: int) -> ToolCall:
    return ToolCall(
        id=_id(part, number),
        name=_name(part),
        arguments=arguments_of(part.get("arguments")),
        signature=_as_text(part.get("signature")),
    )


def _result(part: JsonObject, call: ToolCall) -> Result:
    images = (_image(image) for image in objects(part.get("images")))
    content = "\n".join([_as_text(part.get("content")), *images])
    return Result(id=call.id, name=call.name, content=content, is_error=part.get("is_error") is True)


def _image(part: JsonObject) -> str:
    return f"[an image that is not sent: {part.get('hash', 'without a name')}]"


def _said(block: Block) -> str:
    match block:
        case TextDelta():
            return block.text
        case ToolCall():
            return f"[called {block.name} with {msgspec.json.encode(block.arguments).decode()}]"
        case Result():
            return f"[result of {block.name}: {block.content}]"


def _id(part: JsonObject, number: int) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(part.get("id", ""))) or f"call_{number}"


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
