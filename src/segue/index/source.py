"""What can be indexed: anything that names its sessions, tells whether one has changed, and can read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from msgspec import Struct

from segue.model import Head

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["title", "summary", "turn", "decision", "learning"]


class SessionRef(Struct, frozen=True, gc=False):
    """A session that is there, and a text that changes whenever it does."""

    id: str
    revision: str


class ReadPosition(Struct, frozen=True, gc=False):
    """How far a session was read: the last event, by its place and its id."""

    seq: int = 0
    id: str = ""


class IndexedText(Struct, frozen=True, kw_only=True, gc=False):
    """Something that people search for."""

    kind: Kind
    text: str
    seq: int = 0
    branch: str = ""
    role: str = ""


class IndexedSession(Struct, frozen=True, kw_only=True):
    """All that is indexed of a session, or all that is new in it."""

    head: Head
    mark: ReadPosition = ReadPosition()
    is_rest: bool = False
    """Whether turns, decisions and learnings are only those that were not known."""
    tool: str = ""
    project: str = ""
    folder: str = ""
    summary: str = ""
    handed_to: str = ""
    """The session of a tool in which this one goes on: where that one says so too, it is no session of its own."""
    handed_from: str = ""
    """Of a tool's session, the one here that it was begun with; `*` where it does not say which."""
    pieces: tuple[IndexedText, ...] = ()
    is_counted: bool = True
    """Whether all turns were seen: otherwise nobody knows how many there are."""


class Source(Protocol):
    """Reads alone; never changes, locks or waits."""

    @property
    def name(self) -> str:
        """What it is known by for good: the URL of a store, or a tool and where it keeps its sessions."""

    def scan(self) -> Iterator[SessionRef]:
        """Every session there is, at the cost of a look at each."""

    def look(self, id: str) -> SessionRef | None:
        """The same for one session; None if it is not there."""

    def read(self, id: str, *, known: ReadPosition | None = None) -> IndexedSession:
        """A session that is new or has changed; without the turns up to `known`, if it is sure that they are the same.

        NotFoundError if it is gone. One that is damaged is given as far as it can be read, and says so in its head.
        """

    can_preview: ClassVar[bool]
    """Whether `preview` is cheaper than `read`; otherwise it is not called."""

    def preview(self, id: str) -> IndexedSession:
        """What a listing shows of a session, without its texts. NotFoundError if the session is gone."""

    def is_alive(self, id: str) -> bool:
        """Whether somebody is writing it now."""
