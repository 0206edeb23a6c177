"""What can be indexed: anything that lists its sessions, detects changes and can read a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Protocol

from msgspec import Struct

from segue.model import Head, Usage
from segue.queries import IndexedText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.queries import Queries


class SessionRef(Struct, frozen=True, gc=False):
    """A session that exists, and a text that changes whenever the session does."""

    id: str
    revision: str


class ReadPosition(Struct, frozen=True, gc=False):
    """How far a session was read: the seq and the id of the last event."""

    seq: int = 0
    id: str = ""


class IndexedSession(Struct, frozen=True, kw_only=True):
    """What is indexed of a session: everything, or what is new since the last read."""

    head: Head
    position: ReadPosition = ReadPosition()
    is_update: bool = False
    """Whether `texts` and `records` have only what was recorded since the known position."""
    tool: str = ""
    project: str = ""
    folder: str = ""
    summary: str = ""
    launch: str = ""
    """The id with which Segue started a session of an AI tool, where the tool then gave it another."""
    texts: Iterable[IndexedText] = ()
    """If it is not a tuple, the session is large, and its texts are read while they are stored."""
    records: tuple[tuple[str, int], ...] = ()
    """The ids and seqs of the records of programs."""
    git_branch: str = ""
    usage: Usage | None = None
    """What all turns used, or with `is_update` the new ones; None if not all were read."""
    is_counted: bool = True
    """Whether all turns were read, so that their number is known."""


class Source(Protocol):
    """Reads sessions; it never changes, locks or waits for one."""

    @property
    def name(self) -> str:
        """A stable name: the URL of a store, or an AI tool and the folder of its sessions."""

    @property
    def queries(self) -> Queries | None:
        """What answers for its sessions, so that none of them is copied into the index; None if there is nothing."""

    def scan(self) -> Iterator[SessionRef]:
        """Every session, with one cheap check per session."""

    def find(self, id: str) -> SessionRef | None:
        """One session; None if it does not exist."""

    def read(self, id: str, *, known: ReadPosition | None = None) -> IndexedSession:
        """Read a session that is new or has changed; only what follows `known`, if the rest is certainly unchanged.

        NotFoundError if it is gone. Of a damaged session, what can be read is returned, with the damage in its head.
        """

    can_preview: ClassVar[bool]
    """Whether `preview` is cheaper than `read`; otherwise it is not called."""

    def preview(self, id: str) -> IndexedSession:
        """What a listing shows of a session, without its texts. NotFoundError if the session is gone."""

    def is_alive(self, id: str) -> bool:
        """Whether a process is writing it now."""
