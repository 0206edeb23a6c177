"""The messages of a session of Gemini CLI in the order in which they were said, and which of them were rewound.

A line adds a message, or repeats it with more in it; or it rewinds the session to a message, or it replaces the list
that the model gets. A replaced list erases nothing: after a compression it starts with a summary, and after a
cancelled request it is shorter, but everything that was said is still in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.google import ACKNOWLEDGEMENT, calls_of, pieces_of, responses_of, spoken
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from segue.integrations.format.lines import LinePlace
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_CANCELLED = "Request cancelled."
_KNOWN = {"sessionId", "$set"}

Position = tuple["LinePlace", int]
"""The line of a message, and its number in the list of messages of that line (0 if it is alone)."""


class Message(NamedTuple):
    position: Position
    after: str
    """The message before it; empty for the first."""
    type: str
    is_summary: bool = False
    is_cut_off: bool = False


class Timeline:
    def __init__(self, builder: TranscriptBuilder) -> None:
        self.messages: dict[str, Message] = {}
        """By id, in the order in which they first occurred."""
        self.tip = ""
        """The message from which the session continues."""
        self.answered: set[str] = set()
        """The calls whose results are stored with them, and need not be taken from the message with the results."""
        self._builder = builder
        self._has_unknown_line = False
        self._copies: dict[str, str] = {}  # by the id of a repetition: the message
        self._prints: dict[int, str] = {}  # the last message with a content

    def add_line(self, place: LinePlace, record: JsonObject) -> None:
        change = record if "messages" in record else child(record, "$set")
        self._take_metadata(record)
        self._take_metadata(change)
        if "messages" in change:
            self.add_list(place, objects(change["messages"]))
        elif "$rewindTo" in record:
            self._rewind(place, as_text(record["$rewindTo"]))
        elif "id" in record:
            self._add(as_text(record["id"]), (place, 0), record)
        elif not (record.keys() & _KNOWN or self._has_unknown_line):
            self._has_unknown_line = True
            self._builder.damage("it is not a message, and not a known change", at=place)

    def add_list(self, place: LinePlace, listed: list[JsonObject]) -> None:
        """Add the messages that did not occur yet; a kept message may be repeated under another id."""
        is_summary = False
        for number, message in enumerate(listed, start=1):
            key = as_text(message.get("id"))
            if key in self.messages or key in self._copies or self._is_answered(message):
                continue
            if is_summary:  # the acknowledgement
                is_summary = False
                self._copies[key] = self.tip
                continue
            is_summary = _acknowledges(listed[number : number + 1]) and message.get("type") == "user"
            original = self._prints.get(_print(message))
            if original is None or is_summary:
                self._add(key, (place, number), message, is_summary=is_summary)
            else:
                self._copies[key] = original

    def _add(self, key: str, position: Position, message: JsonObject, *, is_summary: bool = False) -> None:
        kind = as_text(message.get("type"))
        known = self.messages.get(key)
        for call in objects(message.get("toolCalls")):
            if call.get("result") is not None:
                self.answered.add(as_text(call.get("id")))
        if kind == "info" and message.get("content") == _CANCELLED and self.tip:
            last = self.messages[self.tip]
            self.messages[self.tip] = last._replace(is_cut_off=last.type == "gemini")
        self._prints[_print(message)] = key
        if known is not None:  # the last one counts, at the place of the first
            self.messages[key] = known._replace(position=position)
            return
        self.messages[key] = Message(position, self.tip, kind, is_summary)
        self.tip = key

    def _rewind(self, place: LinePlace, name: str) -> None:
        """Continue from the message before this one."""
        found = self.messages.get(self._copies.get(name, name))
        if found is not None:
            self.tip = found.after
        elif not self._builder.is_partial:
            self._builder.damage("it rewinds to a message that is not in the file", at=place)

    def _is_answered(self, message: JsonObject) -> bool:
        """Whether it only repeats results that are stored with their calls."""
        answers = responses_of(pieces_of(message.get("content")))
        return bool(answers) and all(as_text(answer.get("id")) in self.answered for answer in answers)

    def _take_metadata(self, record: JsonObject) -> None:
        builder = self._builder
        builder.native_id = as_text(record.get("sessionId")) or builder.native_id
        builder.title = as_text(record.get("summary")) or builder.title
        folders = record.get("directories")
        if isinstance(folders, list) and folders and isinstance(folders[0], str):
            builder.cwd = builder.cwd or folders[0]


def _acknowledges(following: list[JsonObject]) -> bool:
    return any(spoken(pieces_of(message.get("content"))) == ACKNOWLEDGEMENT for message in following)


def _print(message: JsonObject) -> int:
    """The same number for two messages that say the same."""
    pieces = pieces_of(message.get("content"))
    calls = [as_text(call["name"]) for call in calls_of(pieces)]
    calls = calls or [as_text(call.get("name")) for call in objects(message.get("toolCalls"))]
    answers = [as_text(answer.get("id")) for answer in responses_of(pieces)]
    return hash((as_text(message.get("type")), spoken(pieces), *calls, *answers))
