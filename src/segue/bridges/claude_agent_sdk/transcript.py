"""A transcript of the SDK and the session that holds it: which entries are known, and where new ones belong.

What is known is read from the session once, and later only what is new. The session decides: other processes append
to it as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.bridges.claude_agent_sdk.entries import (
    SourceEntry,
    links_in,
    message_id,
    record_event,
    turn_event,
    uuid_of,
)
from segue.bridges.claude_agent_sdk.state import Answer
from segue.bridges.sessions import new_id
from segue.clock import utc_now
from segue.integrations.claude.message_index import CHAIN, MessageEntry, index_messages
from segue.integrations.claude.reader import message_turns
from segue.integrations.claude.turn_tree import TurnTree
from segue.integrations.format.branches import BranchTracker
from segue.integrations.format.lines import lines_of
from segue.integrations.format.parts import has_part
from segue.integrations.format.transcript import TranscriptBuilder, title_from
from segue.integrations.format.values import as_amount, as_text
from segue.model import EPOCH, BranchCreated, BranchSwitched, Turn
from segue.transfer.imported_copy import branch_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from segue.bridges.claude_agent_sdk.state import State
    from segue.integrations.claude.message_index import MessageIndex
    from segue.integrations.format.lines import LinePlace
    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import Event, JsonObject, Overview
    from segue.session import LiveSession

TOOL = "claude"
"""The tool whose transcripts they are: the turns have the ids that an import of its files gives them."""
_MOST_BRANCHES = 200
"""Of a session: its overview names them all. What forks after that continues the last turn."""


class Transcript:
    """What is known of one session, for one thread at a time."""

    def __init__(self, *, is_subagent: bool = False) -> None:
        self.seq = 0
        """Up to where the session is known."""
        self._is_subagent = is_subagent
        self._uuids: set[str] = set()
        self._tree = TurnTree()
        self._branches = BranchTracker()
        self._branch_count = 1
        self._message: tuple[str, MessageEntry, list[JsonObject]] = (
            "",
            MessageEntry("", "", is_side=False, places=[]),
            [],
        )
        """The last turn with entries, as a message; a message may have more turns than one."""
        self._answer: tuple[str, list[str]] = ("", [])
        """The last answer: its id, and the entries that it has so far."""

    def read(self, events: Iterable[Event]) -> None:
        """Take over what was recorded since the last time."""
        for event in events:
            self.seq = event.seq
            if isinstance(event, BranchCreated):
                side = event.extra.get("aside")
                self._begin_branch(event.name, event.at, side=side if isinstance(side, str) else "")
            elif isinstance(event, Turn):
                self._branches.add(event.id, event.branch)
                self._read_turn(event)
            elif links := links_in(event):
                self._uuids.add(uuid_of(links[0]))
                if _is_linked(links[0]):
                    entry = self._message_entry(links[0])
                    self._tree.skip(entry, [], self._tree.find(entry))

    def _read_turn(self, turn: Turn) -> None:
        name, entry, links = self._message
        after = name
        if found := links_in(turn):
            links, entry = found, self._message_entry(found[0])
            after = self._tree.find(entry)
            self._message = (turn.id, entry, links)
            self._uuids.update(map(uuid_of, links))
        elif not name or not turn.id.startswith(f"{name}:"):
            return
        self._tree.add(entry, links, turn.id, after, is_result=has_part(turn, "tool_result"))
        self._join_answer(links, turn.id)

    def _join_answer(self, entries: Sequence[JsonObject], turn_id: str) -> None:
        """All entries of an answer belong to its latest turn, since what follows one of them follows all of it."""
        if not entries or entries[0].get("type") != "assistant" or not (name := message_id(entries[0])):
            return
        before, uuids = self._answer
        self._answer = (name, [*(uuids if name == before else ()), *map(uuid_of, entries)])
        self._tree.move(self._answer[1], turn_id)

    def _message_entry(self, first: JsonObject) -> MessageEntry:
        parent = as_text(first.get("parentUuid")) or as_text(first.get("logicalParentUuid"))
        is_attached = first.get("type") == "attachment" or first.get("isMeta") is True
        return MessageEntry(
            uuid_of(first),
            parent if "parentUuid" in first else new_id(),
            is_side=first.get("isSidechain") is True and not self._is_subagent,
            places=[],
            is_attached=is_attached,
        )

    def select_new(self, sources: Sequence[SourceEntry], start: int) -> list[SourceEntry]:
        """The entries that are not known, each once, with their positions from `start` on."""
        found: list[SourceEntry] = []
        for source in sources:
            if not source.uuid or source.uuid not in self._uuids:
                found.append(source._replace(position=start + len(found)))
                self._uuids.add(source.uuid)
        return found

    def events(self, session: LiveSession, sources: Sequence[SourceEntry], state: State) -> list[Event]:
        """The events for new entries: turns and records in their order, then the active branch."""
        builder = _Builder(TOOL, session.id, new_id())
        lines = "\n".join(map(self._indexed, sources)).encode()
        found = index_messages(lines_of(lines), builder)
        made: dict[int, list[Event]] = {}  # by the position of the first entry
        placed: set[int] = set()
        for entry in found.entries:
            group = [sources[place.number - 1] for place in entry.places]
            if turns := self._turn_events(session.put_blob, entry, group, builder, state):
                made[group[0].position] = turns
                placed.update(source.position for source in group)
        events: list[Event] = []
        for source in sources:
            events += made.get(source.position, ())
            if source.position not in placed:
                event_id = builder.id_of(source.uuid) if source.uuid else new_id()
                events.append(record_event(source, event_id, session.put_blob))
        self._name(state, found, sources)
        return [*events, *self._switch(session.overview, found.last, events)]

    def _indexed(self, source: SourceEntry) -> str:
        """The entry as a line for the index: a message has an id and a parent there, also if it came without."""
        entry = source.entry
        if not source.is_plain:
            return "{}"
        if not _is_linked(entry):
            return source.text
        added: JsonObject = {} if source.uuid else {"uuid": new_id()}
        if "parentUuid" not in entry:
            added["parentUuid"] = new_id()  # which is unknown, so that it follows the last turn
        if self._is_subagent:
            added["isSidechain"] = False
        return json.dumps({**entry, **added}) if added else source.text

    def _turn_events(
        self,
        put_blob: Callable[[bytes], str],
        entry: MessageEntry,
        group: Sequence[SourceEntry],
        builder: TranscriptBuilder,
        state: State,
    ) -> list[Event]:
        """A message as turns, of which the first has all its entries; none if it has to be stored as records."""
        events: list[Event] = []
        entries = [source.entry for source in group]
        found = list(message_turns(entry, entries, builder, self._tree))
        for number, one in enumerate(found):
            turn = one.turn if one.turn.timestamp != EPOCH else replace(one.turn, timestamp=utc_now())
            if turn.id in self._branches:  # an import of replies has recorded it without its entries
                turn = replace(turn, id=new_id())
            if number == 0 and turn.role == "assistant":
                turn = _without_counted(turn, group[-1].entry, state)
            stored = turn_event(turn, () if number else group, put_blob)
            if stored is None:
                break
            events += self._place(replace(one, turn=stored))
            self._join_answer(entries, stored.id)
            state.titles.first_words = state.titles.first_words or title_from(turn)
        return events

    def _place(self, found: TranscriptTurn) -> Iterator[Event]:
        if self._branch_count >= _MOST_BRANCHES:
            found = replace(found, after=new_id(), side="")
        branch, fork = self._branches.place(found)
        if fork:
            self._begin_branch(fork.name, fork.at, side=found.side)
            yield branch_event(TOOL, fork, found.turn.timestamp, found.side)
        self._branches.add(found.turn.id, branch)
        yield replace(found.turn, branch=branch)

    def _begin_branch(self, name: str, at: int, *, side: str) -> None:
        self._branches.begin(name, at, side=side)
        self._branch_count += 1

    def _switch(self, overview: Overview, last: str, events: Sequence[Event]) -> Iterator[Event]:
        """To the branch that goes on after the last entry, unless a user added to the active one in another way."""
        end = self._branches.end_of(overview.branch)
        if not last or (end and not end.startswith(f"{TOOL}:")):
            return
        branch, fork = self._branches.continue_from(self._tree.end(last))
        if fork or not branch:
            branch = next((event.branch for event in reversed(events) if isinstance(event, Turn)), "")
        if branch and branch != overview.branch:
            yield BranchSwitched(branch=branch, timestamp=utc_now(), id=new_id())

    def _name(self, state: State, found: MessageIndex, sources: Sequence[SourceEntry]) -> None:
        titles = state.titles
        described = [as_text(one.entry.get("description")) for one in sources if one.entry.get("type") == _AGENT]
        titles.custom = found.custom_title or next(filter(None, described), titles.custom)
        titles.ai = found.ai_title or titles.ai
        titles.summary = found.summary or titles.summary


_AGENT = "agent_metadata"
"""The type of the entries that describe a subagent."""


class _Builder(TranscriptBuilder):
    """Every entry is stored, whether it can be understood or not, so that nothing is damage."""

    def damage(self, reason: str, *, at: LinePlace | None = None) -> None: ...


def _is_linked(entry: JsonObject) -> bool:
    kind = entry.get("type")
    return isinstance(kind, str) and kind in CHAIN


def _without_counted(turn: Turn, last: JsonObject, state: State) -> Turn:
    """The turn without what its answer had used by the last append: every entry of an answer has the sum so far."""
    name = message_id(last)
    found = turn.extra.get("usage")
    usage = {key: as_amount(value) or 0 for key, value in found.items()} if isinstance(found, dict) else {}
    before = state.answer.usage if name and name == state.answer.id else {}
    state.answer = Answer(name, usage)
    if not before:
        return turn
    left = {key: max(0, value - before.get(key, 0)) for key, value in usage.items()}
    tokens = None if turn.tokens is None else int(left.get("output_tokens", 0))
    return replace(turn, tokens=tokens, extra={**turn.extra, "usage": left})
