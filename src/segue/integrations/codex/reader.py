"""Turns from the rollouts of a thread of Codex: a rewind starts another rollout, a fork shares those of other threads.

A rollout continues where another ends, or in the middle of it: then the turns after that place were rewound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.codex.items import ItemParser, ParsedTurn
from segue.integrations.format.lines import Lines, lines_of
from segue.integrations.format.parts import has_part
from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
from segue.integrations.format.values import as_count, as_text, child

if TYPE_CHECKING:
    from segue.integrations.codex.items import Rollback
    from segue.integrations.format.lines import LinePlace
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject, Turn

_MOST_ROLLOUTS = 100
"""From other threads."""


class OpenedRollout(NamedTuple):
    path: str
    lines: Lines


FindRollout = Callable[[str], OpenedRollout | None]
"""Opens a rollout by its id: that of its thread for the first, and another for those after a rewind."""


def read(data: bytes, *, native_id: str, place: str) -> Transcript:
    builder = TranscriptBuilder("codex", place, native_id)
    return builder.transcript(parse_turns(lines_of(data), builder))


def parse_turns(lines: Lines, builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns of a thread with one rollout."""
    return parse_thread([builder.native_id], builder, {builder.native_id: OpenedRollout(builder.place, lines)}.get)


def parse_thread(
    rollouts: Sequence[str], builder: TranscriptBuilder, find: FindRollout, agents: Sequence[Sequence[str]] = ()
) -> Iterator[TranscriptTurn]:
    """The turns of a thread, whose rollouts are given oldest first, and then of its subagents, each as a side branch.

    Turns that were rewound are included, and the next turn follows the last one that was not. A fork starts with the
    turns that it shares with another thread.
    """
    reader = _ThreadReader(builder, find)
    yield from reader.read(rollouts)
    builder.tip = reader.tip.id if reader.tip else ""
    names: set[str] = set()
    for number, own in enumerate(agents, start=1):
        agent = _ThreadReader(builder, find, is_agent=True)
        name = ""
        for entry in agent.read(own):
            name = name or _free_name(agent.name or f"agent-{number}", names)
            yield TranscriptTurn(entry.turn, entry.after, "" if entry.after else name, entry.is_ours)


def _free_name(wanted: str, names: set[str]) -> str:
    """The name, or with a number if another agent has it: agents are in the order of their start."""
    name, number = wanted, 1
    while name in names:
        number += 1
        name = f"{wanted}-{number}"
    names.add(name)
    return name


class _Tip(NamedTuple):
    """A turn and the turns before it."""

    id: str
    before: _Tip | None
    is_user: bool


class _Continued(NamedTuple):
    """Where a rollout continues another one."""

    base: JsonObject
    rollout: str


class _ThreadReader:
    def __init__(self, builder: TranscriptBuilder, find: FindRollout, *, is_agent: bool = False) -> None:
        self.tip: _Tip | None = None
        self.name = ""
        """The name of a branch for a subagent."""
        self._builder = builder
        self._find = find
        self._is_agent = is_agent
        self._continued: dict[str, list[_Continued]] = {}
        """By a rollout: the rollouts of this thread that continue it."""
        self._tips: dict[str, _Tip | None] = {}
        """By a rollout of this thread: the turn that it continues."""
        self._read: set[str] = set()
        self._unknown: set[str] = set()

    def read(self, rollouts: Sequence[str]) -> Iterator[TranscriptTurn]:
        if len(rollouts) > 1:
            for rollout in rollouts:
                if base := self._find_base(rollout):
                    self._continued.setdefault(as_text(base.get("thread_id")), []).append(_Continued(base, rollout))
        self._read.update(rollouts)
        for rollout in rollouts:
            self.tip = None
            if (opened := self._find(rollout)) is not None:
                yield from self._rollout(rollout, opened)

    def _find_base(self, rollout: str) -> JsonObject:
        opened = self._find(rollout)
        if opened is None:
            return {}
        records = TranscriptBuilder("codex", opened.path).records(opened.lines)
        return next((_base(record) for _, record in records if record.get("type") == "session_meta"), {})

    def _rollout(self, id: str, opened: OpenedRollout, end: JsonObject | None = None) -> Iterator[TranscriptTurn]:
        """The turns of a rollout up to its end, after those of the rollout that it continues."""
        builder = self._builder_for(opened.path)
        parser = ItemParser(id, builder, self._unknown)
        waiting = list(self._continued.get(id, ()))
        first, skipped = True, 0
        for at, record in builder.records(opened.lines):
            if builder is not self._builder:
                self._builder.read_bytes += at.size
            if end is not None and _is_after(at, record, end):
                break
            if waiting:
                reached = [item for item in waiting if _is_after(at, record, item.base)]
                waiting = [item for item in waiting if item not in reached]
                yield from self._save(reached, parser)
            if record.get("type") == "session_meta":
                if first:
                    first, skipped = False, self._begin(record)
                    yield from self._continue(_base(record), id)
            elif self._is_agent and _is_inherited(record, skipped):
                continue
            elif found := parser.parse(at, record):
                yield from self._follow(found)
        yield from self._follow(parser.flush())
        if end is None:
            yield from self._save(waiting, parser)

    def _builder_for(self, path: str) -> TranscriptBuilder:
        """A builder that names this file in its damages, which are those of the whole session."""
        if path == self._builder.place:
            return self._builder
        builder = TranscriptBuilder("codex", path, self._builder.native_id)
        builder.damages, builder.is_partial = self._builder.damages, self._builder.is_partial
        return builder

    def _begin(self, record: JsonObject) -> int:
        """Take over what the header says; the number of the first record of a subagent's own."""
        payload = child(record, "payload")
        self._builder.cwd = self._builder.cwd or as_text(payload.get("cwd"))
        self._builder.git_branch = self._builder.git_branch or as_text(child(payload, "git").get("branch"))
        name = as_text(payload.get("agent_nickname")) or as_text(payload.get("agent_path")).rpartition("/")[2]
        self.name = f"agent-{name}" if name else ""
        return as_count(payload.get("subagent_history_start_ordinal")) or 0

    def _continue(self, base: JsonObject, id: str) -> Iterator[TranscriptTurn]:
        """Go to the turn that a rollout continues, with the turns up to there if they are of another thread."""
        if not base:
            return
        name = as_text(base.get("thread_id"))
        if id in self._tips:
            self.tip = self._tips[id]
            return
        is_new = name not in self._read and len(self._read) <= _MOST_ROLLOUTS
        opened = self._find(name) if is_new else None
        if opened is None:
            self._builder.damage(f"it starts with session {name:.80}, which is missing, or refers back to this one")
        else:
            self._read.add(name)
            yield from self._rollout(name, opened, base)

    def _save(self, reached: list[_Continued], parser: ItemParser) -> Iterator[TranscriptTurn]:
        if reached:
            yield from self._follow(parser.flush())
            self._tips |= {item.rollout: self.tip for item in reached}

    def _follow(self, items: Iterable[ParsedTurn | Rollback]) -> Iterator[TranscriptTurn]:
        for item in items:
            if isinstance(item, ParsedTurn):
                after = self.tip.id if self.tip else ""
                yield TranscriptTurn(item.turn, after, is_ours=item.is_ours, copy_of=item.copy_of)
                self.tip = _Tip(item.turn.id, self.tip, _is_said(item.turn))
            else:
                self._roll_back(item)

    def _roll_back(self, count: int) -> None:
        at = self.tip
        while at is not None and count:
            if at.is_user:
                count -= 1
                self.tip = at.before
            at = at.before


def _is_said(turn: Turn) -> bool:
    return turn.role == "user" and not has_part(turn, "tool_call")


def _base(record: JsonObject) -> JsonObject:
    return child(record, "payload", "history_base")


def _is_after(at: LinePlace, record: JsonObject, end: JsonObject) -> bool:
    ordinal, own = as_count(end.get("end_ordinal_exclusive")), as_count(record.get("ordinal"))
    if ordinal is not None and own is not None:
        return own >= ordinal
    offset = as_count(end.get("end_byte_offset"))
    return offset is not None and at.offset >= offset


def _is_inherited(record: JsonObject, start: int) -> bool:
    """Whether a subagent's record is a copy of one of its parent's."""
    ordinal = as_count(record.get("ordinal"))
    return (ordinal is not None and ordinal < start) or child(record, "metadata").get("inherited_user_message") is True
