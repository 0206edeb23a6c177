"""Sessions of other tools copied into a store: once, and from then on only what is new."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.clock import utc_now
from segue.errors import (
    ConflictError,
    Damage,
    NotFoundError,
    SegueError,
    SessionExistsError,
    StorageError,
    UsageError,
    unforeseen,
)
from segue.formats.journal import fingerprint
from segue.integrations.format.branches import BranchTracker
from segue.integrations.format.transcript import only_text, opening_words, plain_turn
from segue.model import EPOCH, MAIN, BranchCreated, BranchSwitched, Metadata, TitleChanged, Turn
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.integrations.histories import ExternalSession, History
    from segue.model import Event, Overview
    from segue.store import Store, Writer

QUIET_SECONDS = 5.0
"""An answer to which nothing was added for so long is complete."""
BATCH_TURNS, BATCH_BYTES = 1000, 2 << 20
"""What one append takes: the cost of a crash, and of waiting for the disk."""


class Imported(Struct, frozen=True, kw_only=True):
    """What copying a session came to."""

    tool: str
    native_id: str
    session_id: str
    """In the store; empty where there was nothing to copy."""
    title: str = ""
    is_new: bool = False
    turns: int = 0
    """Those that were not there yet."""
    is_growing: bool = False
    """Whether an answer was left for the next time, since the tool is writing it."""
    damages: tuple[Damage, ...] = ()


def imported_session_id(tool: str, native_id: str) -> str:
    """What a session of a tool is called here: always the same."""
    return f"{tool}-{re.sub(r'[^A-Za-z0-9._-]', '-', native_id)}"[:128]


def import_session(
    history: History, kept: ExternalSession, store: Store, *, clock: Callable[[], datetime] = utc_now
) -> Imported:
    """Copy what is new in a session. The tool's own files stay as they are, and so does all that was copied before.

    Where the tool has changed what it said, the change is a branch. NotFoundError if the session is gone, SegueError
    as the store has them; whatever was copied by then stays, and the next time goes on from there.
    """
    about, steps = history.read(kept)
    held: list[TranscriptTurn] = []
    is_growing = clock().timestamp() - kept.changed_at < QUIET_SECONDS
    try:
        with closing(steps), _Copy(store, about, kept.id) as copy:
            for step in _settled(steps, held) if is_growing else steps:
                copy.add(step)
            copy.finish()
    except SegueError:
        raise
    except Exception as error:
        raise StorageError(str(unforeseen(error, kept.path)), path=kept.path) from error
    return Imported(
        tool=history.name,
        native_id=kept.id,
        session_id=copy.session_id if copy.exists else "",
        title=copy.title,
        is_new=copy.is_new,
        turns=copy.turns,
        is_growing=bool(held),
        damages=tuple(about.damages),
    )


def _settled(steps: Iterable[TranscriptTurn], held: list[TranscriptTurn]) -> Iterator[TranscriptTurn]:
    """All but the last answer and what belongs to it, which are held."""
    for step in steps:
        if step.turn.role in {"assistant", "user"}:
            yield from held
            held.clear()
        if held or step.turn.role == "assistant":
            held.append(step)
        else:
            yield step


class _Copy:
    """A session of a tool, and what the store has of it. The store's is opened when there is something to add."""

    def __init__(self, store: Store, about: TranscriptBuilder, native_id: str) -> None:
        self.session_id = imported_session_id(about.tool, native_id)
        self.is_new = False
        self.turns = 0
        self._store = store
        self._about = about
        self._native_id = native_id
        self._first_words = ""
        self._branches = BranchTracker()
        self._prints: dict[str, int] = {}
        self._instead: dict[str, str] = {}  # by a turn that the tool changed: the one that counts
        self._title_by = ""
        self._batch: list[Event] = []
        self._batch_began = 0
        self._writer: Writer | None = None
        self._overview = self._recall()

    @property
    def exists(self) -> bool:
        return self._overview is not None

    @property
    def title(self) -> str:
        return self._about.title or self._first_words

    def add(self, step: TranscriptTurn) -> None:
        turn = step.turn
        self._first_words = self._first_words or opening_words(turn)
        if turn.id in self._branches:
            if self._prints.get(turn.id) in {None, fingerprint(turn), fingerprint(plain_turn(turn))}:
                return
            self._instead[turn.id] = f"{turn.id[:180]}~{fingerprint(turn):08x}"
            turn = replace(turn, id=self._instead[turn.id])
            if turn.id in self._branches:
                return
        after = self._instead.get(step.after, step.after)
        branch, fork = self._branches.place(replace(step, after=after))
        if fork:
            self._branches.begin(fork.name, fork.at, aside=step.side)
            self._batch.append(
                BranchCreated(
                    name=fork.name,
                    parent=fork.parent,
                    at=fork.at,
                    timestamp=turn.timestamp,
                    switch=False,
                    id=f"{self._about.tool}:branch:{fork.name}",
                    extra={"aside": step.side} if fork.is_aside else {},
                )
            )
        self._branches.add(turn.id, branch)
        self._batch.append(replace(turn, branch=branch))
        self.turns += 1
        if len(self._batch) >= BATCH_TURNS or self._about.read_bytes - self._batch_began >= BATCH_BYTES:
            self._flush(turn.timestamp)

    def finish(self) -> None:
        """The rest; then the title and the branch with which the tool goes on, unless people here chose others."""
        last = self._batch[-1] if self._batch else None
        self._flush(last.timestamp if isinstance(last, Turn) else None)
        overview = self._overview
        if overview is None:
            return
        tool = self._about.tool
        if (title := self.title) and title != overview.title and self._title_by in {"", tool}:
            mark = f"{tool}:title:{overview.seq}"
            self._batch.append(TitleChanged(title=title, timestamp=overview.updated_at, id=mark))
        tip = self._about.tip
        branch = self._branches.branch_of(self._instead.get(tip, tip))
        if branch and branch != overview.branch and self._branches.end_of(overview.branch).startswith(f"{tool}:"):
            mark = f"{tool}:switch:{overview.seq}"
            self._batch.append(BranchSwitched(branch=branch, timestamp=overview.updated_at, id=mark))
        self._flush(overview.updated_at)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
            if self._overview is not None:
                self._store.mark_changed(self.session_id, self._overview.updated_at)

    def _recall(self) -> Overview | None:
        """What the store has of it, read without a lock."""
        try:
            overview = self._store.overview(self.session_id)
        except NotFoundError:
            return None
        if overview.extra.get("origin") != self._native_id:
            raise SessionExistsError(self.session_id)
        for event in self._store.read(self.session_id):
            match event:
                case Turn():
                    self._branches.add(event.id, event.branch)
                    self._prints[event.id] = fingerprint(replace(event, branch=MAIN))
                case BranchCreated():
                    aside = event.extra.get("aside")
                    self._branches.begin(event.name, event.at, aside=aside if isinstance(aside, str) else "")
                case TitleChanged():
                    self._title_by = event.id.partition(":")[0]
        return overview

    def _flush(self, moment: datetime | None) -> None:
        """One append, and so all of it or nothing."""
        self._batch_began = self._about.read_bytes
        if not self._batch:
            return
        if self._writer is None:
            self._writer = self._opened(moment or EPOCH)
        try:
            self._writer.append(*self._batch, ids_are_new=True)
        except UsageError:
            for event in self._batch:
                self._append_alone(self._writer, event)
        self._batch = []
        self._overview = self._writer.overview

    def _append_alone(self, writer: Writer, event: Event) -> None:
        try:
            writer.append(event, ids_are_new=True)
        except UsageError as error:
            if not isinstance(event, Turn):
                raise
            self._about.damage(only_text(event, error))
            writer.append(plain_turn(event), ids_are_new=True)

    def _opened(self, moment: datetime) -> Writer:
        if self._overview is None:
            self.is_new = True
            first = next((event for event in self._batch if isinstance(event, Turn)), None)
            return self._store.create(self.session_id, [self._metadata(first.timestamp if first else moment)])
        writer = self._store.open(self.session_id)
        if writer.overview.seq != self._overview.seq:
            writer.close()
            raise ConflictError(f"session {self.session_id} was written meanwhile", hint="import it again")
        return writer

    def _metadata(self, begun: datetime) -> Metadata:
        about = self._about
        return Metadata(
            session_id=self.session_id,
            agent=about.tool,
            created_at=begun,
            status="paused",
            version=FORMAT_VERSION,
            title=self.title,
            id=f"{about.tool}:{self._native_id}"[:200],
            extra={"tool": about.tool, "origin": self._native_id, **({"cwd": about.cwd} if about.cwd else {})},
        )


class FailedImport(Struct, frozen=True, kw_only=True):
    """A session that could not be copied."""

    tool: str
    native_id: str
    """Empty where not even a look at the tool's sessions was possible."""
    error: SegueError


class ImportWatch:
    """Copies what tools write, again and again. Sessions that they delete meanwhile stay in the store."""

    def __init__(
        self,
        histories: Iterable[History],
        store: Store,
        *,
        home: Path,
        environ: Mapping[str, str],
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._histories = tuple(histories)
        self._store = store
        self._home = home
        self._environ = environ
        self._clock = clock
        self._known: dict[tuple[str, str], str] = {}

    def poll(self) -> Iterator[Imported | FailedImport]:
        """Every session that has changed since the last time, or was not complete then; one that fails costs itself."""
        for history in self._histories:
            try:
                for kept in history.kept(self._home, self._environ):
                    if self._known.get((history.name, kept.id)) != kept.revision:
                        yield self._copy(history, kept)
            except SegueError as error:
                yield FailedImport(tool=history.name, native_id="", error=error)

    def _copy(self, history: History, kept: ExternalSession) -> Imported | FailedImport:
        try:
            found = import_session(history, kept, self._store, clock=self._clock)
        except SegueError as error:
            return FailedImport(tool=history.name, native_id=kept.id, error=error)
        if not found.is_growing:
            self._known[history.name, kept.id] = kept.revision
        return found
