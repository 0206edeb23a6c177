"""What comes of reading another tool's transcript: turns with stable ids, and whatever could not be read."""

from __future__ import annotations

import json
import re
from datetime import UTC
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.errors import Damage, UsageError
from segue.formats.records import BadRecordError, parse_json, parse_moment
from segue.integrations.format.limits import DAMAGES, VALUES, has_too_many_values, too_large
from segue.model import EPOCH, JsonObject, Turn, check_event

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from datetime import datetime

    from segue.integrations.format.lines import LinePlace, Lines

LONGEST_TITLE = 80
MARK = "segue"
"""What tells records written here from the tool's own."""
ANY = "*"
UNPAIRED = re.compile("[\ud800-\udfff]")


class TranscriptTurn(Struct, frozen=True, gc=False):
    """A turn, and the turn behind which it was said."""

    turn: Turn
    after: str = ""
    """The id of a turn that came before; empty for a beginning."""
    side: str = ""
    """Of the first turn of a conversation that an agent held by the way: what to call it."""
    is_ours: bool = False
    """Whether it was written there from here."""


class Transcript(Struct, frozen=True, kw_only=True):
    """The turns that were held in the tool itself, oldest first; what was written there from here is not among them."""

    tool: str
    native_id: str
    """By which the tool resumes it; empty where it kept none."""
    turns: tuple[Turn, ...] = ()
    damages: tuple[Damage, ...] = ()
    title: str = ""

    def after(self, known: Container[str]) -> tuple[Turn, ...]:
        """The turns whose ids are not known yet: what is left to record, and nothing the second time."""
        return tuple(turn for turn in self.turns if turn.id not in known)


class TranscriptBuilder:
    """What a reader comes upon. Where the session was held is known with its first turn, the rest with its last."""

    def __init__(self, tool: str, place: str, native_id: str = "") -> None:
        self.tool = tool
        self.native_id = native_id
        self.place = place
        self.title = ""
        self.cwd = ""
        self.origin = ""
        """The id of the session here that was written there; `ANY` where the tool's record does not say which."""
        self.tip = ""
        """The turn with which the session goes on."""
        self.is_partial = False
        """Whether turns in the middle were passed over."""
        self.damages: list[Damage] = []
        self.read_bytes = 0
        """How much of the file the steps so far were made of, where that is known."""

    def records(self, lines: Lines) -> Iterator[tuple[LinePlace, JsonObject]]:
        """The JSON objects of the lines; every other line is a damage, and costs only itself."""
        for place, data, is_whole in lines:
            self.read_bytes += place.size
            if data is None:
                self.damage("it is too long to be read", at=place)
                continue
            try:
                record = parse_record(data)
            except BadRecordError as error:
                self.damage(str(error) if is_whole else "it breaks off in the middle", at=place)
                continue
            if isinstance(record, dict):
                yield place, record
            else:
                self.damage("it is JSON, but not an object", at=place)

    def marked(self, record: JsonObject) -> bool:
        """Whether a record was written there from here, and for which session, as far as it says."""
        if MARK not in record:
            return False
        mark = record[MARK]
        self.origin = self.origin or (mark if isinstance(mark, str) and mark != self.native_id else ANY)
        return True

    def damage(self, reason: str, *, at: LinePlace | None = None) -> None:
        if len(self.damages) >= DAMAGES:
            raise too_large(f"{DAMAGES:,} places cannot be read")
        if at is None:
            self.damages.append(Damage(self.place, reason))
        else:
            where = f"{self.place}, line {at.number}"
            self.damages.append(Damage(where, reason, line=at.number, offset=at.offset, size_bytes=at.size))

    def moment(self, value: object, *, at: LinePlace | None = None) -> datetime:
        try:
            return parse_moment(value).astimezone(UTC)
        except (BadRecordError, OverflowError):
            self.damage(f"{value!r:.40} is not a time", at=at)
            return EPOCH

    def turn(
        self,
        key: str,
        role: str,
        content: str,
        timestamp: datetime,
        *,
        records: Sequence[JsonObject],
        parts: Sequence[JsonObject] = (),
        tokens: object = None,
        model: str = "",
    ) -> Turn:
        count = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**63 else None
        return Turn(
            role=role,
            content=content,
            timestamp=timestamp,
            tokens=count,
            tokens_by="" if count is None else "provider",
            model=model,
            parts=tuple(parts),
            native={"tool": self.tool, "records": list(records)},
            id=self.id_of(key),
        )

    def id_of(self, key: str) -> str:
        return f"{self.tool}:{key}"[:200]

    def transcript(self, steps: Iterable[TranscriptTurn]) -> Transcript:
        """The way to the tip, as far as it was said in the tool."""
        behind: dict[str, TranscriptTurn] = {}
        for step in steps:
            behind.setdefault(step.turn.id, step)
        turns: list[Turn] = []
        name = self.tip
        while (found := behind.pop(name, None)) is not None:
            if not found.is_ours:
                turns.append(self._takeable(found.turn))
            name = found.after
        return Transcript(
            tool=self.tool,
            native_id=self.native_id,
            turns=tuple(reversed(turns)),
            damages=tuple(self.damages),
            title=self.title,
        )

    def _takeable(self, turn: Turn) -> Turn:
        try:
            check_event(turn, None)
        except UsageError as error:
            self.damage(only_text(turn, error))
            return plain_turn(turn)
        return turn


def parse_record(data: bytes) -> object:
    """JSON of another tool. BadRecordError with the reason."""
    if has_too_many_values(data):
        raise BadRecordError(f"there are more than {VALUES:,} values in it")
    return parse_json(data)


def plain_turn(turn: Turn) -> Turn:
    """As every store takes it: without its structure rather than not at all."""
    return replace(turn, content=UNPAIRED.sub("\ufffd", turn.content), parts=(), native=None)


def only_text(turn: Turn, error: UsageError) -> str:
    return f"only the text of turn {turn.id} can be kept: {error}"


def empty_transcript(tool: str, place: str, reason: str) -> Transcript:
    """Of a session that cannot be read at all."""
    return Transcript(tool=tool, native_id="", damages=(Damage(place, reason),))


def opening_words(turn: Turn) -> str:
    """What a session without a title is called: how the user began."""
    words = " ".join(turn.content.split()) if turn.role == "user" else ""
    return words if len(words) <= LONGEST_TITLE else f"{words[: LONGEST_TITLE - 1]}…"


def call_part(id: object, name: object, arguments: object) -> JsonObject:
    return {"type": "tool_call", "id": as_text(id), "name": as_text(name), "arguments": arguments}


def result_part(id: object, content: str, *, failed: bool = False) -> JsonObject:
    part: JsonObject = {"type": "tool_result", "id": as_text(id), "content": content}
    return {**part, "is_error": True} if failed else part


def reasoning_part(text: object) -> JsonObject:
    return {"type": "reasoning", "text": as_text(text)}


def as_text(value: object) -> str:
    """A text as it is, nothing as nothing; bytes as the text they should be; of any other value its JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[nested too deeply]"


def objects(value: object) -> list[JsonObject]:
    """The objects of a list; nothing else, and nothing of what is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def child(record: JsonObject, *names: str) -> JsonObject:
    """The object under these names, one in the other; empty where there is none."""
    for name in names:
        found = record.get(name)
        record = found if isinstance(found, dict) else {}
    return record


def texts(content: object, kinds: Container[str] = ("text",)) -> str:
    """What people read of a message: a text, or the texts among its blocks."""
    if isinstance(content, str):
        return content
    return "\n\n".join(as_text(block.get("text")) for block in objects(content) if block.get("type") in kinds)
