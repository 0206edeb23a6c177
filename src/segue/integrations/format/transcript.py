"""What a reader builds from a session of an AI tool: turns with stable ids, and what could not be read."""

from __future__ import annotations

import re
from datetime import UTC
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.errors import Damage, UsageError
from segue.formats.records import BadRecordError, parse_json, parse_moment
from segue.integrations.format.limits import DAMAGES, VALUES, has_too_many_values, too_large
from segue.integrations.format.native import compact_records
from segue.integrations.format.values import as_count
from segue.model import EPOCH, JsonObject, Turn, check_event

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from segue.integrations.format.lines import LinePlace, Lines

LONGEST_TITLE = 80
LONGEST_ID = 200
MARK = "segue"
"""The mark of records that Segue wrote into a session of a tool."""
UNPAIRED = re.compile("[\ud800-\udfff]")


class TranscriptTurn(Struct, frozen=True, gc=False):
    """A turn, and the turn that it follows."""

    turn: Turn
    after: str = ""
    """The id of an earlier turn; empty for the first turn of a branch."""
    side: str = ""
    """The name of a branch for a subagent, on its first turn; else empty."""
    is_ours: bool = False
    """Whether Segue wrote it into the session of the tool."""
    is_undone: bool = False
    """Whether the user took it back, and all that follows; on the first such turn, which starts a branch."""
    copy_of: str = ""
    """The id of the turn that Segue wrote there, if it is known."""
    instead_of: str = ""
    """The id of the turn that Segue wrote there in its place, if the tool has removed that."""


class TranscriptBranch(Struct, frozen=True):
    """Turns of the tool, each after the one before."""

    turns: tuple[Turn, ...]
    instead_of: str = ""
    """The turn in place of which they were said: of the tool, or of ours. Empty if they follow what there was."""
    after: str = ""
    """The turn that they follow: of the tool, or of ours; empty if it is not known."""


class Transcript(Struct, frozen=True, kw_only=True):
    """The turns that were recorded by the tool itself, oldest first, without those that Segue wrote there."""

    tool: str
    native_id: str
    """The id with which the tool resumes it; empty if it does not have it."""
    turns: tuple[Turn, ...] = ()
    damages: tuple[Damage, ...] = ()
    title: str = ""
    branches: tuple[TranscriptBranch, ...] = ()
    """All of the turns, also those that were rewound; empty if none were, and nothing of ours is before them."""

    def after(self, known: Container[str]) -> tuple[Turn, ...]:
        """The turns with other ids than these: what is left to record."""
        return tuple(turn for turn in self.turns if turn.id not in known)


class TranscriptBuilder:
    """Collects what a reader finds. The folder is known with the first turn, everything else with the last."""

    def __init__(self, tool: str, place: str, native_id: str = "") -> None:
        self.tool = tool
        self.native_id = native_id
        self.place = place
        self.title = ""
        self.cwd = ""
        self.git_branch = ""
        self.launch = ""
        """The id with which Segue started the session, if the tool then gave it another."""
        self.tip = ""
        """The turn from which the session continues."""
        self.is_partial = False
        """Whether turns in the middle were skipped."""
        self.damages: list[Damage] = []
        self.limits: list[Damage] = []
        """What the tool never records, so that no session has it: an import names it, but nothing is damaged."""
        self.read_bytes = 0
        """How much of the file was read for the turns so far, if that is known."""

    def records(self, lines: Lines) -> Iterator[tuple[LinePlace, JsonObject]]:
        """The JSON objects of the lines; every other line is a damage, and affects only itself."""
        for place, data, is_whole in lines:
            self.read_bytes += place.size
            if data is None:
                self.damage("it is too long to read", at=place)
                continue
            try:
                record = parse_record(data)
            except BadRecordError as error:
                self.damage(str(error) if is_whole else "it is truncated", at=place)
                continue
            if isinstance(record, dict):
                yield place, record
            else:
                self.damage("it is JSON, but not an object", at=place)

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
        partial: bool = False,
        usage: Mapping[str, object] | None = None,
        effort: object = None,
    ) -> Turn:
        """A turn of the tool; `usage` is made with `usage_of`, and the number of tokens is that of the answer."""
        count = as_count(tokens)
        about: JsonObject = {"usage": dict(usage)} if usage else {}
        if isinstance(effort, str) and effort:
            about["effort"] = effort
        return Turn(
            role=role,
            content=content,
            timestamp=timestamp,
            tokens=count,
            tokens_by="" if count is None else "provider",
            model=model,
            partial=partial,
            parts=tuple(parts),
            native={"tool": self.tool, "records": compact_records(records, content, parts)},
            id=self.id_of(key),
            extra=about,
        )

    def id_of(self, key: str) -> str:
        """The id of a turn; if it would be too long, with a sum in place of its end, so that it is still its own."""
        id = f"{self.tool}:{key}"
        if len(id) <= LONGEST_ID:
            return id
        return f"{id[: LONGEST_ID - 33]}-{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"

    def transcript(self, entries: Iterable[TranscriptTurn]) -> Transcript:
        """The turns up to the tip, without those that Segue wrote."""
        by_id: dict[str, TranscriptTurn] = {}
        for entry in entries:
            by_id.setdefault(entry.turn.id, entry)
        stored = {name: self.storable(entry.turn) for name, entry in by_id.items() if not entry.is_ours}
        branches = _branches(by_id.values(), stored)
        turns: list[Turn] = []
        name = self.tip
        while (found := by_id.pop(name, None)) is not None:
            if not found.is_ours:
                turns.append(stored[name])
            name = found.after
        return Transcript(
            tool=self.tool,
            native_id=self.native_id,
            turns=tuple(reversed(turns)),
            damages=tuple(self.damages),
            title=self.title,
            branches=branches if len(branches) > 1 or any(one.instead_of or one.after for one in branches) else (),
        )

    def storable(self, turn: Turn) -> Turn:
        """The turn as a store accepts it; if it does not, only its text, and a damage."""
        try:
            check_event(turn, None)
        except UsageError as error:
            self.damage(only_text_reason(turn, error))
            return plain_turn(turn)
        return turn


def _branches(entries: Iterable[TranscriptTurn], stored: Mapping[str, Turn]) -> tuple[TranscriptBranch, ...]:
    """The turns of the tool by branch, without subagents; the first turn after another continues its branch."""
    firsts: dict[str, str] = {}  # by a turn: the first turn after it
    names: dict[str, str] = {}  # by a turn: its id here
    places: dict[str, int] = {}
    found: list[list[Turn]] = []
    starts: list[tuple[str, str]] = []
    of_agents: set[str] = set()
    for entry in entries:
        id = entry.turn.id
        if entry.side or entry.after in of_agents:
            of_agents.add(id)
            continue
        names[id] = entry.copy_of if entry.is_ours else id
        first = firsts.setdefault(entry.after, id)
        if entry.is_ours:
            continue
        replaced = _first_name(first, firsts, names) if first != id else entry.instead_of
        if first != id or replaced or entry.after not in places:
            places[id] = len(found)
            found.append([])
            starts.append((replaced, names.get(entry.after, "")))
        else:
            places[id] = places[entry.after]
        found[places[id]].append(stored[id])
    return tuple(TranscriptBranch(tuple(turns), *start) for turns, start in zip(found, starts, strict=True))


def _first_name(turn: str, firsts: Mapping[str, str], names: Mapping[str, str]) -> str:
    """The id here of a turn; if it stands for none, of the first one after it that does."""
    seen: set[str] = set()
    while turn in names and not names[turn] and turn not in seen:
        seen.add(turn)
        turn = firsts.get(turn, "")
    return names.get(turn, "")


def parse_record(data: bytes) -> object:
    """Parse a JSON record of another tool. BadRecordError with the reason."""
    if has_too_many_values(data):
        raise BadRecordError(f"it contains more than {VALUES:,} values")
    return parse_json(data)


def plain_turn(turn: Turn) -> Turn:
    """The turn as every store accepts it: its text, without parts and native record."""
    return replace(turn, content=UNPAIRED.sub("\ufffd", turn.content), parts=(), native=None)


def only_text_reason(turn: Turn, error: UsageError) -> str:
    return f"only the text of turn {turn.id} can be stored: {error}"


def empty_transcript(tool: str, place: str, reason: str) -> Transcript:
    """The transcript of a session that cannot be read at all."""
    return Transcript(tool=tool, native_id="", damages=(Damage(place, reason),))


def title_from(turn: Turn) -> str:
    """The start of a turn of the user, as the title of a session that has none."""
    said = turn.content if turn.role == "user" else ""
    if said.startswith("/"):
        said = said.partition("\n\n")[0]  # a command, without what the model got for it
    text = " ".join(said.split())
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"
