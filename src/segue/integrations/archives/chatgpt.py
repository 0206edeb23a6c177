"""Turns from a conversation in an export of ChatGPT: a tree of messages, and the one that the user sees last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.openai_messages import parse_arguments
from segue.integrations.format.parts import call_part, file_part, image_part, notice_part, reasoning_part, result_part
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_TEXTS = {"text", "code", "execution_output", "multimodal_text", "tether_quote", "tether_browsing_display"}
_TEXTS |= {"system_error", "sonic_webpage", "computer_output", "user_editable_context", "model_editable_context"}
"""Types of content that are read as text."""
_MOST_OPEN = 8
"""Calls without a result that a later message may answer."""
_UNFINISHED = {"interrupted", "in_progress"}


def parse_turns(document: JsonObject, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    """The turns of all branches, each after the one that it follows; the active path ends with the tip."""
    builder.title = as_text(document.get("title"))
    reader = _Reader(document, builder)
    for node, after in reader.walk():
        turn = reader.turn(node, after)
        reader.ends[as_text(node.get("id"))] = after if turn is None else turn.id
        if turn is not None:
            yield TranscriptTurn(turn, after)
            builder.tip = turn.id
    builder.tip = reader.ends.get(as_text(document.get("current_node"))) or builder.tip


class _Reader:
    def __init__(self, document: JsonObject, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._unknown = UnknownKinds(builder)
        self._nodes = {
            id: {**node, "id": id} for id, node in child(document, "mapping").items() if isinstance(node, dict)
        }
        self._latest: object = document.get("create_time")
        self.ends: dict[str, str] = {}
        """The turn with which the path to a node ends, by the id of the node."""
        self._calls: dict[str, list[tuple[str, str]]] = {"": []}
        """The calls on the path to a turn that have no result yet, by the turn: their ids and the tools."""

    def walk(self) -> Iterator[tuple[JsonObject, str]]:
        """Every node once, parents first, and the turn that it follows."""
        waiting = [id for id, node in self._nodes.items() if as_text(node.get("parent")) not in self._nodes]
        waiting.reverse()
        seen: set[str] = set()
        while waiting:
            id = waiting.pop()
            if id in seen or id not in self._nodes:
                continue
            seen.add(id)
            node = self._nodes[id]
            yield node, self.ends.get(as_text(node.get("parent")), "")
            children = node.get("children")
            waiting += [as_text(name) for name in reversed(children)] if isinstance(children, list) else []
        if len(seen) < len(self._nodes):
            self._builder.damage(f"{len(self._nodes) - len(seen):,} messages are not connected with the first one")

    def turn(self, node: JsonObject, after: str) -> Turn | None:
        message = child(node, "message")
        if not message:
            return None
        author, content = child(message, "author"), child(message, "content")
        about = child(message, "metadata")
        self._latest = message.get("create_time") or self._latest
        role, parts = as_text(author.get("role")), []
        text, kind = self._text(content), as_text(content.get("content_type"))
        open_calls = list(self._calls.get(after, []))
        key = as_text(node.get("id"))
        match role:
            case "user":
                parts = [*_images(content), *_attachments(about)]
                if kind == "user_editable_context" or about.get("is_user_system_message") is True:
                    role, parts = "system", [notice_part()]
            case "assistant":
                text, parts = self._answer(message, key, text, open_calls)
            case "tool":
                name = as_text(author.get("name"))
                called = next((call for call in reversed(open_calls) if call[1].startswith(name)), ("", ""))
                open_calls = [call for call in open_calls if call != called]
                parts = [result_part(called[0], text, images=_images(content), failed=kind == "system_error")]
            case "system":
                parts = [notice_part()]
            case _:
                self._unknown.report("message", role)
                return None
        if not text and not [part for part in parts if part["type"] != "notice"]:
            return None
        unfinished = not _UNFINISHED.isdisjoint(
            map(as_text, [child(about, "finish_details").get("type"), message.get("status")])
        )
        turn = self._builder.turn(
            f"{self._builder.native_id}:{key}",
            role,
            text,
            self._builder.moment(self._latest),
            records=[message],
            parts=parts,
            model=as_text(about.get("model_slug")) if role == "assistant" else "",
            partial=unfinished and role == "assistant",
        )
        self._calls[turn.id] = open_calls[-_MOST_OPEN:]
        return turn

    def _answer(
        self, message: JsonObject, key: str, text: str, open_calls: list[tuple[str, str]]
    ) -> tuple[str, list[JsonObject]]:
        """An answer, what the model thought, or a call of a tool, which is a message to it."""
        content, recipient = child(message, "content"), as_text(message.get("recipient"))
        if content.get("content_type") == "thoughts":
            thoughts = [
                "\n".join(filter(None, [as_text(thought.get("summary")), as_text(thought.get("content"))]))
                for thought in objects(content.get("thoughts"))
            ]
            return "", [reasoning_part(thought) for thought in thoughts if thought]
        if recipient and recipient not in {"all", "assistant"}:
            open_calls.append((key, recipient))
            arguments = parse_arguments(text)
            return "", [call_part(key, recipient, arguments if isinstance(arguments, dict) else {"input": text})]
        return text, _images(content)

    def _text(self, content: JsonObject) -> str:
        kind = as_text(content.get("content_type"))
        if kind in {"thoughts", "reasoning_recap"}:
            return ""
        if kind not in _TEXTS:
            self._unknown.report("content", kind)
        pieces = content.get("parts")
        found = [_piece(piece) for piece in pieces] if isinstance(pieces, list) else []
        found += [as_text(content.get(name)) for name in ("text", "result", "user_profile", "user_instructions")]
        return "\n\n".join(filter(None, found))


def _piece(piece: object) -> str:
    """A text, or the words in a recording of the user's voice."""
    return as_text(piece.get("text")) if isinstance(piece, dict) else as_text(piece)


def _images(content: JsonObject) -> list[JsonObject]:
    """Images and recordings, which are separate files of the archive."""
    found = []
    for piece in objects(content.get("parts")):
        kind = as_text(piece.get("content_type"))
        if kind == "image_asset_pointer":
            found.append(image_part())
        elif kind.endswith("asset_pointer"):
            found.append(file_part(piece.get("asset_pointer") or kind))
    return found


def _attachments(about: JsonObject) -> list[JsonObject]:
    return [file_part(item.get("name") or item.get("id")) for item in objects(about.get("attachments"))]
