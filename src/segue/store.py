"""THE contract: what a store is. `segue.testing.conformance` proves it for each one.

A session is a sequence of events, and `fold(events)` is the session. A store appends events and reads sessions back.
Whatever a store cannot do it declares in its `Capabilities`, and "no" is tested as strictly as "yes".

For every method: nothing is written by a method that reads; a damaged session is never overwritten, skipped or
removed by itself; ids are exact (prefixes are a matter of the library) and raise InvalidIdError where they break the
grammar, NotFoundError where there is no such session, StorageError where the machine fails. No exception of a driver
or of the operating system escapes.
"""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from segue.errors import Damage
from segue.model import Head, Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from segue.model import Event, Overview, Turn

FORMAT_VERSION = 1
"""The major version this code writes; sessions of a newer one can be read but not written."""

WAIT_SECONDS = 5.0
"""How long a second writer waits for the first, unless told otherwise."""


class Durability(IntEnum):
    """What an acknowledged event survives."""

    VOLATILE = 0
    """Nothing: gone with the process."""
    WRITTEN = 1
    """kill -9 of the process."""
    SYNCED = 2
    """Power loss."""
    REPLICATED = 3
    """Loss of the machine."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a store can and cannot do."""

    durability: Durability
    """The most it can promise."""
    shared: bool
    """Whether other processes see its sessions (and its locks)."""
    can_be_damaged: bool
    """Whether there is anything outside the process that could be broken, and so examined and recovered."""
    append_only: bool
    """Whether recorded events never change, so that a reader that knows some of them can read only the rest.

    False where users edit the files: then the events are what the files say now.
    """


class Receipt(Struct, frozen=True, kw_only=True, gc=False):
    """The acknowledgement of an append."""

    seqs: tuple[int, ...]
    """Where each event stands in its session, in the order in which they were given."""
    durability: Durability
    """What was given, not what was hoped for."""


class Examination(Struct, frozen=True, kw_only=True):
    """All that can be read of a session, and all that cannot."""

    session: Session | None
    """None where not even its beginning can be read."""
    damages: tuple[Damage, ...] = ()
    torn_bytes: int = 0
    """Bytes of an append at the end that never completed: no damage, since nobody was told it had."""


class Recovery(Struct, frozen=True, kw_only=True):
    """What a salvage kept and lost."""

    session: Session
    kept: int
    """Events."""
    damages: tuple[Damage, ...]
    original: str
    """Where the damaged original is now."""


class Owner(Struct, frozen=True, kw_only=True):
    """The living writer of a session; fields are None where it has not said."""

    pid: int | None = None
    host: str | None = None
    since: datetime | None = None


class UserFile(Protocol):
    """A file of a session that users edit. It need not exist."""

    @property
    def path(self) -> str: ...

    def read(self) -> bytes:
        """FileNotFoundError if it does not exist."""

    def create(self, data: bytes) -> None:
        """FileExistsError if it exists."""

    def replace(self, data: bytes) -> None:
        """Write the whole file, durably."""


class Trashed(Struct, frozen=True, kw_only=True):
    """A session in the trash."""

    key: str
    """What it is called there; several may have had one id."""
    head: Head
    """As of its deletion; one that cannot be read says so in `damage`."""
    deleted_at: datetime
    size_bytes: int


class Trash(Protocol):
    """What was deleted and can be put back. Nothing goes from it by itself."""

    def put(self, session_id: str, *, revision: str | None = None) -> str:
        """Take exactly this session out of the store, with all that is beside it; its key. As `Store.delete` else.

        Whole or not at all: after a crash it is in the store, or in the trash.
        """

    def entries(self) -> Iterator[Trashed]:
        """What is in it, in no order."""

    def restore(self, key: str) -> str:
        """Put a session back as it was; its id. SessionExistsError if there is another one of this id by now.

        NotFoundError if there is no such key. After a crash it is in the store, or in the trash.
        """

    def erase(self, key: str) -> None:
        """Delete it for good. NotFoundError if there is no such key."""


class Writer(Protocol):
    """The one writer of a session, by a lock that ends with the process. Safe to share between threads."""

    @property
    def overview(self) -> Overview:
        """The session without its turns, as of the last append."""

    @property
    def branch(self) -> str:
        """The active one, as of the last append."""

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        """Record the events: all or nothing, in order, behind everything recorded so far.

        When it returns, they survive what the receipt says. When it raises, none is recorded, now or after a restart
        (unless the machine refused to take it back as well; appending it again by its id is safe): DiskFullError
        leaves the writer usable, any other StorageError stops it. An event whose id is recorded already is not
        recorded again and gets its old seq; the same id with other content (times aside) raises ConflictError.
        `fresh` promises that the ids were made for this call, so that the store need not look for them. UsageError
        and ConflictError as in `model.check_event`.
        """

    def put_blob(self, data: bytes) -> str:
        """Keep the bytes beside the session, once, as durably as an event; give back their `sha256:…` name."""

    def close(self) -> None:
        """Release the session; closing twice is closing once. Changes no status."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Store(Protocol):
    """Anything that can keep sessions."""

    @property
    def url(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def path_of(self, session_id: str) -> str:
        """Where the user finds the session; its id where there is no file."""

    def new_id(self, label: str, now: datetime, entropy: bytes) -> str:
        """A name for a new session, as this store likes them; 16 bytes of entropy make it unlike any other."""

    def create(self, session_id: str, events: Sequence[Event]) -> Writer:
        """Make a session of its first events (the metadata first), all or nothing, and be its writer.

        When it returns, session and events survive what the store's durability says. SessionExistsError if the id is
        taken, also when two callers race: exactly one wins.
        """

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> Writer:
        """Become the writer of an existing session; never creates one and changes no status.

        Waits up to `timeout_seconds` for a living writer, then raises SessionLockedError with its pid, host and since
        when. An append that a crash cut short is set aside first. DamagedError if the end of the session cannot be
        trusted, ReadOnlyError if it was written by a newer version.
        """

    def load(self, session_id: str) -> Session:
        """The whole session up to the last complete append; never waits for a writer. DamagedError if any is damaged.

        An active session whose writer is dead reads as interrupted.
        """

    def overview(self, session_id: str) -> Overview:
        """Everything but the turns, as `load` would give it, at a cost that does not grow with the conversation.

        DamagedError if the end of the session cannot be trusted.
        """

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        """The last turns of a branch (of the active one), oldest first, at the cost of those turns alone."""

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """Every event with a seq beyond `after`, in order; what is appended meanwhile may or may not be included."""

    def revision(self, session_id: str) -> str:
        """A text that changes whenever the session does, found without reading it."""

    def changed_at(self, session_id: str) -> datetime | None:
        """When the files of a session were last changed, by whomever; None where there is nothing to change."""

    def mark_changed(self, session_id: str, moment: datetime) -> None:
        """Let them say that it was then: a copy is as old as what it is a copy of. Nothing else depends on it."""

    def ids(self) -> Iterator[str]:
        """Every session there is, readable or not, in no order."""

    def revisions(self) -> Iterator[tuple[str, str]]:
        """Every session with its revision, in no order. Where the revision cannot be found, the reason takes its place.

        Cheaper than asking for each one, where the store can do that.
        """

    def heads(self) -> Iterator[Head]:
        """What a listing needs of every session, in no order; one that cannot be read says so in `damage`.

        Its `updated_at` is the last activity: later than the last event where somebody else changed the files.
        """

    def head(self, session_id: str) -> Head:
        """The same for one session."""

    def owner(self, session_id: str) -> Owner | None:
        """Who is writing the session now; found without disturbing a writer."""

    def get_blob(self, session_id: str, name: str) -> bytes:
        """The bytes that `put_blob` kept. NotFoundError, or DamagedError if they no longer match their name."""

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        """Remove exactly this session for good, with all that is beside it, and not what is in the trash.

        SessionLockedError at once while a writer lives. With `revision`, ConflictError if the session has changed
        since. Where a crash cut it short, the session is gone, and calling it again removes the rest.
        """

    def has_remains(self, session_id: str) -> bool:
        """Whether there is anything of a session, and be it only what a deletion left that was cut short."""

    def scope_file(self, session_id: str) -> UserFile | None:
        """The file in which users edit the scope of the session; None if the scope is in the events alone."""

    @property
    def trash(self) -> Trash | None:
        """Where deleted sessions can be kept; None if this store has no such place."""

    def sweep(self) -> None:
        """Remove what killed writers left unfinished; never what belongs to a living one, nor anything recorded."""

    def examine(self, session_id: str) -> Examination:
        """Everything readable and every damage with its place; raises for neither."""

    def recover(self, session_id: str) -> Recovery:
        """Put all that can be read of a damaged session in its place and keep the damaged original beside it.

        Idempotent, also after a crash half-way. UsageError if nothing is damaged; DamagedError if nothing can be read.
        """

    def close(self) -> None:
        """Let go of everything; writers that are open stay open."""
