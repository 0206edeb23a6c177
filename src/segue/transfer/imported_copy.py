"""The copy of a session of an AI tool in a store: which turns are new, and on which branch each of them is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import ConflictError, NotFoundError, SessionExistsError, UsageError
from segue.integrations.format.branches import BranchTracker
from segue.integrations.format.transcript import only_text_reason, plain_turn, title_from
from segue.model import EPOCH, BranchCreated, BranchSwitched, Metadata, TitleChanged, Turn
from segue.store import FORMAT_VERSION
from segue.transfer.stored_turn import stored_turn
from segue.transfer.turn_identity import MORE, find_continuation, identify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from segue.integrations.format.branches import NewBranch
    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import Event, JsonObject, Overview
    from segue.store import Store, Writer
    from segue.transfer.turn_identity import TurnIdentity

BATCH_TURNS, BATCH_BYTES = 1000, 2 << 20
"""The size of one append: what a crash costs, and how long the disk takes."""


def imported_session_id(tool: str, native_id: str) -> str:
    """The id of an imported session in a store, which is always the same."""
    return f"{tool}-{re.sub(r'[^A-Za-z0-9._-]', '-', native_id)}"[:128]


def branch_event(tool: str, fork: NewBranch, at: datetime, side: str = "") -> BranchCreated:
    """The event that creates a branch; the branch of a subagent is marked."""
    return BranchCreated(
        name=fork.name,
        parent=fork.parent,
        at=fork.at,
        timestamp=at,
        switch=False,
        id=f"{tool}:branch:{fork.name}",
        extra={"aside": side} if fork.is_side else {},
    )


def origin_fields(builder: TranscriptBuilder, native_id: str) -> JsonObject:
    """Where a session comes from: the tool, its id there, and its folder and git branch if they are known."""
    known = {"cwd": builder.cwd, "git_branch": builder.git_branch}
    return {"tool": builder.tool, "origin": native_id, **{name: value for name, value in known.items() if value}}


class ImportedCopy:
    """A session of a tool, and its copy in the store, which is opened when there is something to add."""

    def __init__(self, store: Store, builder: TranscriptBuilder, native_id: str) -> None:
        self.session_id = imported_session_id(builder.tool, native_id)
        self.is_new = False
        self.turns = 0
        self._store = store
        self._builder = builder
        self._native_id = native_id
        self._first_words = ""
        self._branches = BranchTracker()
        self._identities: dict[str, TurnIdentity] = {}
        self._followed_by: dict[str, str] = {}  # by a turn that the tool changed or continued: the id of that
        self._continued: dict[str, str] = {}  # by the continuation of a turn: the id of the turn before it
        self._last_words: dict[str, str] = {}  # by branch: its last turn that is not a result
        self._title_by = ""
        self._batch: list[Event] = []
        self._batch_start = 0
        self._writer: Writer | None = None
        self._overview = self._read_copy()

    @property
    def exists(self) -> bool:
        return self._overview is not None

    @property
    def overview(self) -> Overview | None:
        """The copy as it is now; None if there is none."""
        return self._overview

    @property
    def title(self) -> str:
        return self._builder.title or self._first_words

    @property
    def tip(self) -> str:
        """The turn from which the tool continues, by its id in the store."""
        tip = self._builder.tip
        while tip in self._followed_by:
            tip = self._followed_by[tip]
        return tip

    def add(self, entry: TranscriptTurn) -> None:
        self._first_words = self._first_words or title_from(entry.turn)
        turn = entry.turn
        if turn.id in self._branches:
            new = self._new_of(turn)
            if new is None:
                return
            turn = new
        after = entry.after
        while after in self._followed_by:
            after = self._followed_by[after]
        if turn.id in self._continued:
            after = self._continued[turn.id]
        branch, fork = self._branches.place(replace(entry, after=after))
        if fork:
            self._branches.begin(fork.name, fork.at, side=entry.side)
            self._batch.append(branch_event(self._builder.tool, fork, turn.timestamp, entry.side))
        self._branches.add(turn.id, branch)
        self._last_words[branch] = turn.id if turn.role != "tool" else self._last_words.get(branch, "")
        self._batch.append(replace(turn, branch=branch))
        self.turns += 1
        if len(self._batch) >= BATCH_TURNS or self._builder.read_bytes - self._batch_start >= BATCH_BYTES:
            self._flush(turn.timestamp)

    def _new_of(self, turn: Turn) -> Turn | None:
        """What is new of a turn that was recorded: its continuation, or all of it if it changed; None if nothing is."""
        if turn.id not in self._identities:  # it is new, and the tool has it twice
            return None
        piece, rest = find_continuation(turn, self._identities)
        if rest is not None and not rest.content and not rest.parts:
            return None
        branch = self._branches.branch_of(piece)
        if rest is not None and self._last_words.get(branch) == piece:
            self._continue(turn.id, rest.id, self._branches.end_of(branch))
            return rest
        changed = f"{turn.id[:180]}~{identify(turn).print:08x}"
        self._followed_by[turn.id] = changed
        return None if changed in self._branches else replace(turn, id=changed)

    def _continue(self, start: str, follower: str, end: str) -> None:
        """What follows the start of a turn, or the end of the branch then, now follows what the tool added to it."""
        self._continued[follower] = end
        for name in {start, end}:
            self._followed_by[name] = follower

    def finish(self) -> None:
        """Add the rest, then the title and the active branch of the tool, unless the user chose others here."""
        last = self._batch[-1] if self._batch else None
        self._flush(last.timestamp if isinstance(last, Turn) else None)
        overview = self._overview
        if overview is None:
            return
        tool = self._builder.tool
        if (title := self.title) and title != overview.title and self._title_by in {"", tool}:
            mark = f"{tool}:title:{overview.seq}"
            self._batch.append(TitleChanged(title=title, timestamp=overview.updated_at, id=mark))
        if self._branches.is_empty(overview.branch) or self._branches.end_of(overview.branch).startswith(f"{tool}:"):
            self._batch += self._switch(overview)
        self._flush(overview.updated_at)

    def _switch(self, overview: Overview) -> Iterator[Event]:
        """Switch to the branch from which the tool continues; it may have taken back the end of one."""
        tool = self._builder.tool
        branch, fork = self._branches.continue_from(self.tip)
        if fork:
            self._branches.begin(fork.name, fork.at, parent=fork.parent)
            yield branch_event(tool, fork, overview.updated_at)
        if branch and branch != overview.branch:
            mark = f"{tool}:switch:{overview.seq}"
            yield BranchSwitched(branch=branch, timestamp=overview.updated_at, id=mark)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
            if self._overview is not None:
                self._store.mark_changed(self.session_id, self._overview.updated_at)

    def _read_copy(self) -> Overview | None:
        """Read the copy in the store, without a lock."""
        try:
            overview = self._store.overview(self.session_id)
        except NotFoundError:
            return None
        if overview.extra.get("origin") != self._native_id:
            raise SessionExistsError(self.session_id)
        for event in self._store.read(self.session_id):
            match event:
                case Turn():
                    start, plus, _ = event.id.rpartition(MORE)
                    if plus:
                        self._continue(start, event.id, self._branches.end_of(event.branch))
                    self._branches.add(event.id, event.branch)
                    self._identities[event.id] = identify(event)
                    if event.role != "tool":
                        self._last_words[event.branch] = event.id
                case BranchCreated():
                    side = event.extra.get("aside")
                    is_of_tool = side is None and event.id.startswith(f"{self._builder.tool}:")
                    self._branches.begin(
                        event.name,
                        event.at,
                        side=side if isinstance(side, str) else "",
                        parent=event.parent if is_of_tool else "",
                    )
                case TitleChanged():
                    self._title_by = event.id.partition(":")[0]
        return overview

    def _flush(self, moment: datetime | None) -> None:
        """Append the batch: all of it or nothing."""
        self._batch_start = self._builder.read_bytes
        if not self._batch:
            return
        writer = self._writer = self._writer or self._open_writer(moment or EPOCH)
        self._batch = [
            stored_turn(event, writer.put_blob) if isinstance(event, Turn) else event for event in self._batch
        ]
        try:
            writer.append(*self._batch, ids_are_new=True)
        except UsageError:
            for event in self._batch:
                self._append_alone(writer, event)
        self._batch = []
        self._overview = writer.overview

    def _append_alone(self, writer: Writer, event: Event) -> None:
        try:
            writer.append(event, ids_are_new=True)
        except UsageError as error:
            if not isinstance(event, Turn):
                raise
            self._builder.damage(only_text_reason(event, error))
            writer.append(plain_turn(event), ids_are_new=True)

    def _open_writer(self, moment: datetime) -> Writer:
        if self._overview is None:
            self.is_new = True
            first = next((event for event in self._batch if isinstance(event, Turn)), None)
            return self._store.create(self.session_id, [self._metadata(first.timestamp if first else moment)])
        writer = self._store.open(self.session_id)
        if writer.overview.seq != self._overview.seq:
            writer.close()
            raise ConflictError(f"session {self.session_id} was changed by another process", hint="import it again")
        return writer

    def _metadata(self, started: datetime) -> Metadata:
        builder = self._builder
        return Metadata(
            session_id=self.session_id,
            agent=builder.tool,
            created_at=started,
            status="paused",
            version=FORMAT_VERSION,
            title=self.title,
            id=f"{builder.tool}:{self._native_id}"[:200],
            extra=origin_fields(builder, self._native_id),
        )
