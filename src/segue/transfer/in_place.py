"""A session of an AI tool as a store that can only be read: turn by turn from its file, and nothing is kept.

One pass over the file gives the overview and the last turns. Everything else is read from the file again when it is
asked for, so that memory does not grow with the session.
"""

from __future__ import annotations

from collections import Counter, deque
from contextlib import closing
from itertools import count as count_from
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from msgspec.structs import replace

from segue.clock import datetime_at
from segue.errors import NotFoundError, ReadOnlyError, SegueError, SessionNotFoundError, StorageError, unforeseen
from segue.formats.journal import fingerprint
from segue.ids import check_id, new_session_id
from segue.integrations.format.branches import BranchTracker
from segue.integrations.format.transcript import title_from
from segue.library import Library
from segue.library_results import Follower, StreamedSession
from segue.model import (
    MAIN,
    BranchCreated,
    Metadata,
    OverviewBuilder,
    Turn,
    Usage,
    fold,
    head_of,
    initial_overview,
    own_turn_ranges,
    usage_of_turn,
)
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Capabilities, Durability, Examination
from segue.transfer.imported_copy import branch_event, imported_session_id, origin_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.errors import Damage
    from segue.integrations.shared.history import ExternalSession
    from segue.integrations.shared.integration import Integration
    from segue.model import Event, Head, JsonObject, Overview, Session
    from segue.store import Recovery, Writer

_RECENT = 32
"""How many turns are kept of the first pass: those that most callers want."""
_COUNTED = 256
"""After how many events the turns are counted and forgotten."""


class _FirstPass(NamedTuple):
    """What is known of a session after it was read once."""

    overview: Overview
    damages: tuple[Damage, ...]
    limits: tuple[Damage, ...]
    usage: Usage
    recent: tuple[tuple[int, Turn], ...]
    """The last turns in the order of the file, each with its number among the own turns of its branch."""


class InPlaceStore:
    """See store.Store: the one session of an AI tool, under the id that it would have if it were imported."""

    capabilities = Capabilities(durability=Durability.VOLATILE, shared=False, can_be_damaged=False, append_only=False)
    trash = None
    bulk = None
    queries = None
    administration = None
    new_id = staticmethod(new_session_id)

    def __init__(self, integration: Integration, session: ExternalSession) -> None:
        self.url = f"{integration.name}:"
        self.id = imported_session_id(integration.name, session.id)
        self._integration = integration
        self._session = session
        self._known: _FirstPass | None = None

    @property
    def usage(self) -> Usage:
        """What all turns used."""
        return self._about.usage

    @property
    def damages(self) -> tuple[Damage, ...]:
        return self._about.damages

    @property
    def limits(self) -> tuple[Damage, ...]:
        """What the tool never records."""
        return self._about.limits

    def update(self, session: ExternalSession) -> None:
        """Continue with what the tool has written since."""
        if session.revision != self._session.revision:
            self._session, self._known = session, None

    def size_bytes(self) -> None:
        """The files are those of the tool."""

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def overview(self, session_id: str) -> Overview:
        self._check(session_id)
        return self._about.overview

    def head(self, session_id: str) -> Head:
        return head_of(self.overview(session_id))

    def heads(self) -> Iterator[Head]:
        yield self.head(self.id)

    def load(self, session_id: str) -> Session:
        return fold(self.read(session_id))

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        about = self.overview(session_id)
        wanted = own_turn_ranges(about, branch or about.branch, count)
        recent = tuple(turn for number, turn in self._about.recent if _is_in(wanted, turn, number))
        if len(recent) == sum(high - low for low, high in wanted.values()):
            return recent
        return tuple(turn for number, turn in self._numbered_turns() if _is_in(wanted, turn, number))

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """Every event after this one. The active branch is the last one that is created with a switch to it."""
        self._check(session_id)
        about = self._about.overview
        if after < 1:
            yield self._metadata(about.created_at, about.title, about.extra)
        for event in _Pass(self._integration, self._session).events(about.branch):
            if event.seq > after:
                yield event

    def revision(self, session_id: str) -> str:
        self._check(session_id)
        return self._session.revision

    def revisions(self) -> Iterator[tuple[str, str]]:
        yield self.id, self._session.revision

    def ids(self) -> Iterator[str]:
        yield self.id

    def path_of(self, session_id: str) -> str:
        self._check(session_id)
        return self._session.path

    def changed_at(self, session_id: str) -> datetime:
        self._check(session_id)
        return datetime_at(self._session.changed_at)

    def examine(self, session_id: str) -> Examination:
        return Examination(session=self.load(session_id), damages=self.damages)

    def get_blob(self, session_id: str, name: str) -> bytes:
        """A tool stores images in the session itself."""
        self._check(session_id)
        raise NotFoundError(f"session {session_id} has no blob {name}")

    def owner(self, session_id: str) -> None:
        """No tool records who is writing a session."""
        check_id(session_id)

    def has_remains(self, session_id: str) -> bool:
        return check_id(session_id) == self.id

    def scope_file(self, session_id: str) -> None:
        self._check(session_id)

    def close(self) -> None:
        """Every file is closed when it was read."""

    # ── Writing, which is refused ────────────────────────────────────────────────────────────────────────────────────

    def create(self, session_id: str, events: Sequence[Event]) -> Writer:  # noqa: ARG002
        self._refuse()

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> Writer:  # noqa: ARG002
        self._refuse()

    def delete(self, session_id: str, *, revision: str | None = None) -> None:  # noqa: ARG002
        self._refuse()

    def mark_changed(self, session_id: str, moment: datetime) -> None:  # noqa: ARG002
        self._refuse()

    def recover(self, session_id: str) -> Recovery:  # noqa: ARG002
        self._refuse()

    def sweep(self) -> None:
        """Nothing was ever written."""

    def _refuse(self) -> NoReturn:
        raise ReadOnlyError(f"session {self._session.id} of {self._integration.name} can only be read")

    # ── One pass over the file ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def _about(self) -> _FirstPass:
        if self._known is None:
            self._known = self._read_once()
        return self._known

    def _read_once(self) -> _FirstPass:
        reading = _Pass(self._integration, self._session)
        found: OverviewBuilder | None = None
        first_words, usage = "", Usage()
        recent: deque[tuple[int, Turn]] = deque(maxlen=_RECENT)
        for event in reading.events():
            if found is None:
                found = OverviewBuilder(initial_overview(self._metadata(event.timestamp, "", {})))
            found.add(event)
            if isinstance(event, Turn):
                recent.append((reading.own_count(event.branch), event))
                first_words = first_words or title_from(event)
                usage += usage_of_turn(event)
                if not event.seq % _COUNTED:
                    found.branches  # noqa: B018 - counts the turns so far, and forgets them
        builder = reading.builder
        if found is None:
            raise NothingReadableError(builder.damages)
        overview = replace(
            found.overview,
            title=builder.title or first_words,
            branch=reading.branches.branch_of(builder.tip) or MAIN,
            extra=origin_fields(builder, self._session.id),
        )
        return _FirstPass(overview, tuple(builder.damages), tuple(builder.limits), usage, tuple(recent))

    def _numbered_turns(self) -> Iterator[tuple[int, Turn]]:
        reading = _Pass(self._integration, self._session)
        for event in reading.events():
            if isinstance(event, Turn):
                yield reading.own_count(event.branch), event

    def _metadata(self, created_at: datetime, title: str, extra: JsonObject) -> Metadata:
        return Metadata(
            session_id=self.id,
            agent=self._integration.name,
            created_at=created_at,
            status="paused",
            version=FORMAT_VERSION,
            title=title,
            id=f"{self._integration.name}:{self._session.id}"[:200],
            seq=1,
            extra=extra,
        )

    def _check(self, session_id: str) -> None:
        if check_id(session_id) != self.id:
            raise SessionNotFoundError(session_id, self.url)


class NothingReadableError(NotFoundError):
    """The session has no turn that can be read."""

    def __init__(self, damages: Sequence[Damage]) -> None:
        super().__init__("it contains nothing readable")
        self.damages = tuple(damages)


class _Pass:
    """One pass over the file of a session: the builder and the branches are complete when the events were taken."""

    def __init__(self, integration: Integration, session: ExternalSession) -> None:
        self.builder, self._turns = integration.read(session)
        self.branches = BranchTracker()
        self._path = session.path
        self._own: Counter[str] = Counter()

    def own_count(self, branch: str) -> int:
        """How many turns the branch has so far, without those that it shares with its parent."""
        return self._own[branch]

    def events(self, active: str = "") -> Iterator[BranchCreated | Turn]:
        """The turns in the order of the file, each branch before its first turn; `active` is switched to."""
        numbers = count_from(2)  # the metadata is the first event
        try:
            with closing(self._turns):
                for entry in self._turns:
                    if entry.turn.id in self.branches:
                        continue
                    branch, fork = self.branches.place(entry)
                    if fork:
                        self.branches.begin(fork.name, fork.at, side=entry.side)
                        created = branch_event(self.builder.tool, fork, entry.turn.timestamp, entry.side)
                        yield replace(created, switch=fork.name == active, seq=next(numbers))
                    self.branches.add(entry.turn.id, branch)
                    self._own[branch] += 1
                    yield replace(self.builder.storable(entry.turn), branch=branch, seq=next(numbers))
        except SegueError:
            raise
        except Exception as error:
            raise StorageError(str(unforeseen(error, self._path)), path=self._path) from error


class InPlaceLibrary(Library):
    """The library of a session in place. It is not read again where one pass has found everything."""

    store: InPlaceStore

    def stream(self, id: str) -> StreamedSession:
        name = self.resolve(id)
        return StreamedSession(self.store.overview(name), (), lambda: self.store.read(name), self.store.usage)

    def follower(self, id: str, *, after: int | None = None) -> Follower:
        return _InPlaceFollower(self.store, self.resolve(id), after)


class _InPlaceFollower(Follower):
    """Tools add to a turn that they have recorded: such a turn is returned again, whole."""

    def __init__(self, store: InPlaceStore, session_id: str, after: int | None) -> None:
        super().__init__(store, session_id, after)
        self._prints: dict[str, int] = {}

    def poll(self) -> list[Event] | None:
        is_first = not self._prints
        try:
            revision = self._store.revision(self._session_id)
            if revision == self._revision:
                return []
            found = [event for event in self._store.read(self._session_id) if self._is_changed(event)]
        except NotFoundError:
            return None
        self._revision = revision
        return [event for event in found if event.seq > self._after] if is_first else found

    def _is_changed(self, event: Event) -> bool:
        own = fingerprint(event) if isinstance(event, Turn) else 0
        known, self._prints[event.id] = self._prints.get(event.id), own
        return known != own


def _is_in(wanted: dict[str, tuple[int, int]], turn: Turn, number: int) -> bool:
    low, high = wanted.get(turn.branch, (0, 0))
    return low < number <= high
