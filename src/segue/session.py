"""One session, open for writing."""

from __future__ import annotations

import os
from datetime import datetime  # noqa: TC003 - the fields of a TypedDict
from itertools import count
from typing import TYPE_CHECKING, TypedDict

from segue.errors import DiskFullError, StorageError, TakenOverError, UsageError
from segue.model import (
    Attachment,
    BranchCreated,
    BranchSwitched,
    Decision,
    Event,
    Learning,
    OverridesChanged,
    Pattern,
    PresetChosen,
    ScopeChanged,
    StatusChanged,
    SummaryWritten,
    TagsChanged,
    TaskDone,
    TitleChanged,
    Turn,
    check_transition,
    own_turn_ranges,
)
from segue.store import WAIT_SECONDS, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from segue.model import JsonObject, Overview, Session, Status
    from segue.store import Store, Writer


class _Stamp(TypedDict):
    timestamp: datetime
    id: str


class LiveSession:
    """The one writer of a session, until it is closed. What a method records is durable when the method returns."""

    def __init__(self, store: Store, writer: Writer, clock: Callable[[], datetime], *, created: bool = False) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._whole: Session | None = None  # as of the seq it carries
        self._open = True
        self._is_stopped = False  # by an error after which the writer accepts nothing more
        self._prefix = os.urandom(6).hex()  # of the ids made here: unique, and cheap to extend by a number
        self._numbers = count(1)
        # Only a writer that died leaves an active session without an owner. It is recorded with our first event.
        self._was_interrupted = not created and writer.overview.status == "active"

    def __repr__(self) -> str:
        return f"<LiveSession {self.id} {self.status}, {self.overview.turn_count} turns>"

    @property
    def store(self) -> Store:
        """The store of the session."""
        return self._store

    @property
    def overview(self) -> Overview:
        """Everything but the turns."""
        return self._writer.overview

    @property
    def id(self) -> str:
        return self.overview.id

    @property
    def agent(self) -> str:
        return self.overview.agent

    @property
    def title(self) -> str:
        return self.overview.title

    @property
    def status(self) -> Status:
        return "interrupted" if self._was_interrupted else self.overview.status

    @property
    def branch(self) -> str:
        return self._writer.branch

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of the active branch. In a long conversation, `tail` costs less."""
        if self._whole is None or self._whole.seq != self.overview.seq:
            self._whole = self._store.load(self.id)
        return self._whole.turns

    def tail(self, count: int) -> tuple[Turn, ...]:
        """The last turns of the active branch, oldest first."""
        return self._store.tail(self.id, count, branch=self.branch)

    def first(self, count: int) -> tuple[Turn, ...]:
        """The first turns of the active branch. Reading stops after the last of them."""
        return tuple(self.iter_first(count))

    def iter_first(self, count: int) -> Iterator[Turn]:
        """The same, turn by turn: none of them stays in memory."""
        overview = self.overview
        wanted = {name: high for name, (_, high) in own_turn_ranges(overview, overview.branch).items()}
        left = min(count, overview.turn_count)
        for event in self._store.read(self.id) if left > 0 else ():
            if isinstance(event, Turn) and wanted.get(event.branch, 0) > 0:
                wanted[event.branch] -= 1
                left -= 1
                yield event
            if left == 0:
                break

    def get_blob(self, name: str) -> bytes:
        """The bytes of an attachment, by its hash."""
        return self._store.get_blob(self.id, name)

    def put_blob(self, data: bytes) -> str:
        """Store bytes with the session, once; the `sha256:…` name by which an event can refer to them."""
        return self._writer.put_blob(data)

    def add(
        self,
        role: str,
        content: str,
        *,
        tokens: int | None = None,
        tokens_by: str = "",
        model: str = "",
        partial: bool = False,
        parts: Sequence[JsonObject] = (),
        native: JsonObject | None = None,
        id: str | None = None,
        timestamp: datetime | None = None,
    ) -> Receipt:
        """Record a turn on the active branch. With an `id` of your own, a repeated call records nothing more."""
        turn = Turn(
            role=role,
            content=content if not isinstance(content, str) or content.isascii() else _joined(content),
            timestamp=self._clock() if timestamp is None else timestamp,
            tokens=tokens,
            tokens_by=tokens_by,
            model=model,
            partial=partial,
            branch=self._writer.branch,
            parts=tuple(parts),
            native=native,
            id=self._new_id() if id is None else id,
        )
        return self._append(turn, ids_are_new=id is None)

    def record(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        """Record events made elsewhere, all or none. Events whose ids are already recorded are not recorded again.

        `ids_are_new` promises that none of them is, so that the store need not look them up.
        """
        return self._append(*events, ids_are_new=ids_are_new)

    def rename(self, title: str) -> Receipt:
        return self._record(TitleChanged(title=title, **self._stamp()))

    def tag(self, *add: str, remove: Iterable[str] = ()) -> Receipt:
        gone = set(remove)
        tags = tuple(dict.fromkeys([*(tag for tag in self.overview.tags if tag not in gone), *add]))
        return self._record(TagsChanged(tags=tags, **self._stamp()))

    def summarize(self, content: str) -> Receipt:
        return self._record(SummaryWritten(content=content, **self._stamp()))

    def decide(self, content: str, *, tags: Iterable[str] = (), source: str = "") -> Receipt:
        return self._record(Decision(content=content, tags=tuple(tags), source=source, **self._stamp()))

    def learn(self, description: str, *, task_id: str | None = None, story_id: str | None = None) -> Receipt:
        return self._record(Learning(description=description, task_id=task_id, story_id=story_id, **self._stamp()))

    def note_pattern(self, name: str, description: str) -> Receipt:
        return self._record(Pattern(name=name, description=description, **self._stamp()))

    def attach(self, path: str, data: bytes) -> Receipt:
        """Store a file that the user gave as context: its bytes as a blob, its path and hash as an event."""
        name = self._writer.put_blob(data)
        return self._record(Attachment(path=path, hash=name, size_bytes=len(data), **self._stamp()))

    def set_scope(self, scope: Mapping[str, object]) -> Receipt:
        return self._record(ScopeChanged(scope=dict(scope), **self._stamp()))

    def use_preset(self, name: str, *, hash: str = "") -> Receipt:
        return self._record(PresetChosen(name=name, hash=hash, **self._stamp()))

    def set_overrides(self, values: Mapping[str, object]) -> Receipt:
        """Set which settings differ from the preset from now on. They replace all earlier ones."""
        return self._record(OverridesChanged(values=dict(values), **self._stamp()))

    def finish_task(self, task_id: str, *, story_id: str | None = None) -> Receipt:
        return self._record(TaskDone(task_id=task_id, story_id=story_id, **self._stamp()))

    def fork(self, *, at: int | None = None, name: str | None = None, switch: bool = True) -> str:
        """Create a branch that shares the first `at` turns of the active one (or all) and switch to it; its name."""
        overview = self.overview
        at = overview.turn_count if at is None else at
        if not isinstance(at, int) or at < 0:
            raise UsageError(f"cannot fork at turn {at!r}", hint="turns are counted from 1; 0 begins an empty branch")
        name = free_branch_name(overview) if name is None else name
        self._record(BranchCreated(name=name, parent=overview.branch, at=at, switch=switch, **self._stamp()))
        return name

    def switch(self, branch: str) -> None:
        """Continue in another branch."""
        self.overview.get_branch(branch)
        if branch != self.branch:
            self._record(BranchSwitched(branch=branch, **self._stamp()))

    def pause(self) -> None:
        self._become("paused")

    def complete(self) -> None:
        self._become("completed")

    def resume(self, *, force: bool = False) -> None:
        """Make it active. A completed session needs `force`."""
        self._become("active", force=force)

    def close(self) -> None:
        """Pause the session if it is active, and release its lock. A second call does nothing."""
        if self._open:
            self._open = False
            try:
                if self.status == "active":
                    self._become("paused")
            finally:
                self._writer.close()

    def release(self) -> None:
        """Release the lock without recording a status."""
        self._open = False
        self._writer.close()

    def reopen(self, *, timeout_seconds: float = WAIT_SECONDS) -> None:
        """Take the lock again after `release`, `close` or an error of the store, and read what has happened since.

        Raises SessionLockedError if another process has it, and NotFoundError if the session is gone.
        """
        if not self.is_open:
            self.release()
            self._writer = self._store.open(self.id, timeout_seconds=timeout_seconds)
            self._was_interrupted = self._writer.overview.status == "active"
            self._open, self._is_stopped = True, False

    @property
    def is_open(self) -> bool:
        """Whether this is the writer: until `close`, `release` or an error of the store, and again after `reopen`."""
        return self._open and not self._is_stopped

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.release()  # the session reads as interrupted from now on

    def _become(self, status: Status, *, force: bool = False) -> None:
        check_transition(self.id, self.status, status, force=force)
        if status != self.status:
            self._record(StatusChanged(status=status, **self._stamp()))

    def _record(self, event: Event) -> Receipt:
        return self._append(event, ids_are_new=True)

    def _append(self, *events: Event, ids_are_new: bool) -> Receipt:
        try:
            if not self._was_interrupted:
                return self._writer.append(*events, ids_are_new=ids_are_new)
            receipt = self._writer.append(
                StatusChanged(status="interrupted", **self._stamp()), *events, ids_are_new=ids_are_new
            )
        except (StorageError, TakenOverError) as error:
            self._is_stopped |= not isinstance(error, DiskFullError)
            raise
        self._was_interrupted = False
        return Receipt(seqs=receipt.seqs[1:], durability=receipt.durability)

    def _stamp(self) -> _Stamp:
        return {"timestamp": self._clock(), "id": self._new_id()}

    def _new_id(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"


def _joined(text: str) -> str:
    """Join surrogate halves that arrived apart, as every reader of JSON does."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text  # it has none


def free_branch_name(overview: Overview) -> str:
    """A name for a new branch of the session."""
    number = len(overview.branches) + 1
    while f"branch-{number}" in overview.branches:
        number += 1
    return f"branch-{number}"
