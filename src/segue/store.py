"""THE contract of a store. `segue.testing.conformance` proves it for each one.

A session is a sequence of events, and `fold(events)` is the session. A store appends events and reads sessions back.
A store declares what it can do in its `Capabilities`, and "no" is tested as strictly as "yes".

For every method: a method that reads writes nothing; a damaged session is never overwritten, skipped or removed
automatically; ids are exact (the library resolves prefixes). An id that breaks the grammar raises InvalidIdError, an
unknown session NotFoundError, a failure of the machine StorageError. No exception of a driver or of the operating
system escapes.
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

    from segue.administration import Administration
    from segue.bulk import Bulk
    from segue.model import Event, Overview, Turn
    from segue.queries import Queries

FORMAT_VERSION = 1
"""The major version this code writes; sessions of a newer one can be read but not written."""

WAIT_SECONDS = 5.0
"""How long a second writer waits for the first, unless the caller sets another time."""


class Durability(IntEnum):
    """What an acknowledged event survives."""

    VOLATILE = 0
    """Nothing: the event is gone with the process."""
    WRITTEN = 1
    """kill -9 of the process."""
    SYNCED = 2
    """Power loss."""
    REPLICATED = 3
    """Loss of the machine."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a store can and cannot do."""

    durability: Durability
    """The most that it can promise."""
    shared: bool
    """Whether other processes see its sessions (and its locks)."""
    can_be_damaged: bool
    """Whether a session has files or records that could be damaged, and so examined and recovered."""
    append_only: bool
    """Whether recorded events never change, so that a reader that knows some of them can read only the rest.

    False where users edit the files: then the events are what the files say now.
    """
    lists_from_columns: bool = False
    """Whether a listing reads what is recorded beside the events: it then does not show that an event is damaged."""


class Receipt(Struct, frozen=True, kw_only=True, gc=False):
    """The acknowledgement of an append."""

    seqs: tuple[int, ...]
    """The number of each event in its session, in the order in which the events were given."""
    durability: Durability
    """What was achieved, not what was requested."""


class Examination(Struct, frozen=True, kw_only=True):
    """What can be read of a session, and what cannot."""

    session: Session | None
    """None if not even its beginning can be read."""
    damages: tuple[Damage, ...] = ()
    torn_bytes: int = 0
    """Bytes of an append at the end that never completed. They are not damage: the append was never acknowledged."""


class Recovery(Struct, frozen=True, kw_only=True):
    """What a recovery saved and lost."""

    session: Session
    kept: int
    """How many events were saved."""
    damages: tuple[Damage, ...]
    original: str
    """The path of the damaged original."""


class Owner(Struct, frozen=True, kw_only=True):
    """The living writer of a session. A field is None if the writer has not recorded it."""

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

    def overwrite(self, data: bytes) -> None:
        """Write the whole file, durably."""


class Trashed(Struct, frozen=True, kw_only=True):
    """A session in the trash."""

    key: str
    """Its name in the trash: several deleted sessions may have had the same id."""
    head: Head
    """As of its deletion. If it cannot be read, `damage` has the reason."""
    deleted_at: datetime
    size_bytes: int


class Trash(Protocol):
    """Deleted sessions that can be restored. Nothing leaves the trash automatically."""

    def put(self, session_id: str, *, revision: str | None = None) -> str:
        """Move exactly this session with all its files to the trash, and return its key. Otherwise as `Store.delete`.

        It is moved whole or not at all: after a crash it is in the store or in the trash.
        """

    def entries(self) -> Iterator[Trashed]:
        """The sessions in the trash, in no order."""

    def restore(self, key: str) -> str:
        """Put a session back as it was, and return its id. SessionExistsError if the id is in use again.

        NotFoundError if there is no such key. After a crash it is in the store or in the trash.
        """

    def erase(self, key: str) -> None:
        """Delete it for good. NotFoundError if there is no such key."""


class Writer(Protocol):
    """The only writer of a session, by a lock that ends with the process. Threads may share it."""

    @property
    def overview(self) -> Overview:
        """The session without its turns, as of the last append."""

    @property
    def branch(self) -> str:
        """The active branch, as of the last append."""

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        """Record the events: all or nothing, in order, after everything recorded so far.

        When it returns, they survive what the receipt says. When it raises, none is recorded, now or after a restart
        (unless the machine also failed to undo the write; appending again with the same ids is safe). DiskFullError
        leaves the writer usable, any other StorageError stops it. An event whose id is recorded already is not
        recorded again and gets its old seq; the same id with other content (times aside) raises ConflictError.
        `ids_are_new` promises that the ids were made for this call, so that the store need not look them up. UsageError
        and ConflictError as in `model.check_event`.
        """

    def put_blob(self, data: bytes) -> str:
        """Store the bytes with the session, once, as durably as an event, and return their `sha256:…` name."""

    def close(self) -> None:
        """Release the session. Closing twice is the same as closing once. The status does not change."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Store(Protocol):
    """Anything that stores sessions."""

    @property
    def url(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def path_of(self, session_id: str) -> str:
        """Where the user finds the session; its id where there is no file."""

    def new_id(self, label: str, now: datetime, entropy: bytes) -> str:
        """A name for a new session, in the style of this store. 16 bytes of entropy make it unique."""

    def create(self, session_id: str, events: Sequence[Event]) -> Writer:
        """Create a session from its first events (the metadata first), all or nothing, and become its writer.

        When it returns, session and events survive what the store's durability says. SessionExistsError if the id is
        taken, also when two callers race: exactly one wins.
        """

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> Writer:
        """Become the writer of an existing session. It never creates one and does not change the status.

        Waits up to `timeout_seconds` for a living writer, then raises SessionLockedError with its pid, host and start
        time. An append that a crash cut short is set aside first. DamagedError if the end of the session cannot be
        trusted, ReadOnlyError if it was written by a newer version.
        """

    def load(self, session_id: str) -> Session:
        """The whole session up to the last complete append. It never waits for a writer. DamagedError on any damage.

        An active session whose writer is dead reads as interrupted.
        """

    def overview(self, session_id: str) -> Overview:
        """Everything but the turns, as in `load`, at a cost that does not grow with the conversation.

        DamagedError if the end of the session cannot be trusted.
        """

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        """The last turns of a branch (by default of the active one), oldest first, at the cost of those turns alone."""

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """Every event with a seq greater than `after`, in order. Events appended meanwhile may or may not be in it."""

    def revision(self, session_id: str) -> str:
        """A text that changes whenever the session changes, found without reading the session."""

    def changed_at(self, session_id: str) -> datetime | None:
        """When the files of a session were last changed, by any program; None where there are no files."""

    def mark_changed(self, session_id: str, moment: datetime) -> None:
        """Set that time, so that a copy is as old as its original. Nothing else depends on it."""

    def ids(self) -> Iterator[str]:
        """Every session there is, readable or not, in no order."""

    def revisions(self) -> Iterator[tuple[str, str]]:
        """Every session with its revision, in no order. Where the revision cannot be found, the reason takes its place.

        Cheaper than asking for each one, where the store can do that.
        """

    def heads(self) -> Iterator[Head]:
        """What a listing needs of every session, in no order. If a session cannot be read, `damage` has the reason.

        `updated_at` is the last activity: later than the last event if another program changed the files.
        """

    def head(self, session_id: str) -> Head:
        """The same for one session."""

    def owner(self, session_id: str) -> Owner | None:
        """The current writer of the session, found without disturbing it."""

    def get_blob(self, session_id: str, name: str) -> bytes:
        """The bytes that `put_blob` stored. NotFoundError, or DamagedError if they no longer match their name."""

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        """Remove exactly this session for good, with all its files. What is in the trash stays.

        SessionLockedError at once while a writer lives. With `revision`, ConflictError if the session has changed
        since. After a crash on the way, the session is gone, and calling it again removes the rest.
        """

    def has_remains(self, session_id: str) -> bool:
        """Whether anything of a session exists, including what an interrupted deletion left."""

    def scope_file(self, session_id: str) -> UserFile | None:
        """The file in which users edit the scope of the session; None if the scope is in the events alone."""

    @property
    def trash(self) -> Trash | None:
        """Where deleted sessions are stored; None if this store has no trash."""

    @property
    def queries(self) -> Queries | None:
        """What lists, filters and searches inside the store; None where the store cannot.

        Then its heads are filtered, and its text is copied into the local index.
        """

    @property
    def bulk(self) -> Bulk | None:
        """What copies many sessions at a time; None where one after the other is as fast."""

    @property
    def administration(self) -> Administration | None:
        """What those who run its server do with it; None if there is no server."""

    def size_bytes(self) -> int | None:
        """What the sessions take on the disk; None if they are on none."""

    def sweep(self) -> None:
        """Remove what killed writers left unfinished, but nothing of a living writer and nothing recorded."""

    def examine(self, session_id: str) -> Examination:
        """Everything that can be read, and every damage with its place. It does not raise for damage."""

    def recover(self, session_id: str) -> Recovery:
        """Replace a damaged session by all that can be read of it, and keep the damaged original next to it.

        Idempotent, also after a crash. UsageError if nothing is damaged, DamagedError if nothing can be read.
        """

    def close(self) -> None:
        """Release all resources. Open writers stay open."""
