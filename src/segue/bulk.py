"""The contract of a store that copies many sessions at a time: see `Store.bulk`.

Where each call is a round trip, a copy of many small sessions would take as long as the network is far away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from segue.model import Event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from segue.errors import SegueError


class Digest(Struct, frozen=True, kw_only=True):
    """What tells whether two copies of a session are equal, without moving them."""

    count: int
    """The number of events."""
    sha256: bytes
    """As `formats.digest` makes it of them."""
    size_bytes: int
    attached: frozenset[str]
    """The names of the blobs of attached files and records, whether or not they exist."""

    def equals(self, other: Digest | SegueError | None) -> bool:
        return isinstance(other, Digest) and (self.count, self.sha256) == (other.count, other.sha256)


class StoredBlob(NamedTuple):
    size_bytes: int
    is_whole: bool
    """Whether its bytes match its name."""


class WholeSession(Struct, frozen=True, kw_only=True):
    """A session to be created, with everything."""

    id: str
    events: Sequence[Event]
    blobs: Mapping[str, bytes]


class Bulk(Protocol):
    """Every method takes many sessions, and a failure of one of them does not affect the others.

    The caller chooses how many, by their sizes. StorageError if the store as a whole cannot answer.
    """

    def digests(self, upto: Mapping[str, int | None]) -> dict[str, Digest | SegueError]:
        """For each session that exists, the digest of its first events, or of all (None)."""

    def read(self, ids: Collection[str]) -> Iterator[tuple[str, list[Event] | SegueError]]:
        """All events of each session that exists, in no order of the sessions."""

    def blobs(self, ids: Collection[str]) -> dict[str, dict[str, StoredBlob]]:
        """By session and name, the blobs there are; sessions without blobs may be left out."""

    def get_blobs(self, names: Mapping[str, Collection[str]]) -> Iterator[tuple[str, str, bytes]]:
        """These blobs of these sessions, as far as they exist: session, name and bytes."""

    def create(self, sessions: Sequence[WholeSession]) -> dict[str, SegueError]:
        """Create each session whole or not at all, without a writer; why it was not, for those that were not.

        SessionExistsError if the id is taken.
        """
