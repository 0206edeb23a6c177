"""Many sessions: create, find, list, follow, clean."""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.clock import utc_now
from segue.errors import (
    AmbiguousIdError,
    ConflictError,
    NotFoundError,
    SegueError,
    SessionExistsError,
    SessionLockedError,
    UsageError,
)
from segue.follow import Follower
from segue.ids import check_id
from segue.model import Event, Head, Metadata, Overview, Turn, Unknown, last_activity, own_turn_ranges
from segue.registry import open_store
from segue.session import LiveSession
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Durability

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from types import TracebackType
    from typing import Self

    from segue.model import JsonObject, Session, Status
    from segue.store import Examination, Recovery, Store, Trash, Trashed, Writer

PINNED = "pinned"
"""The tag of a session that is never cleaned."""

_TRIES = 20
_READINGS = 16


def open(
    url: str,
    *,
    durability: Durability = Durability.SYNCED,
    clock: Callable[[], datetime] = utc_now,
) -> Library:
    """A library over the store that the URL names. Nothing is created or written until a session is."""
    scheme, colon, path = url.partition(":")
    if path.startswith("~"):
        url = f"{scheme}{colon}{Path(path).expanduser()}"
    return Library(open_store(url, clock=clock, durability=durability), clock=clock)


class Cleaned(Struct, frozen=True, kw_only=True):
    """What cleaning did, or would do."""

    removed: tuple[Head, ...]
    kept: tuple[tuple[Head, str], ...]
    """Sessions that are old enough and stay all the same, each with the reason."""


class StreamedSession(Struct, frozen=True):
    """A session that was found sound, and whose turns are read as they are asked for: it may be larger than memory."""

    overview: Overview
    unknown: tuple[Unknown, ...]
    _read: Callable[[], Iterator[Event]]

    def path(self, branch: str) -> Iterator[Turn]:
        """As `Session.path`; what was recorded since is left out."""
        wanted = own_turn_ranges(self.overview, branch)
        return self._turns({name: high for name, (_, high) in wanted.items()})

    @property
    def own_turns(self) -> dict[str, Iterator[Turn]]:
        """As `Session.own_turns`. Each branch is one reading of the whole; where there are many, memory is cheaper."""
        own = {name: one.own for name, one in self.overview.branches.items() if one.own}
        if len(own) <= _READINGS:
            return {name: self._turns({name: count}) for name, count in own.items()}
        found: dict[str, list[Turn]] = {name: [] for name in own}
        for turn in self._turns(own):
            found[turn.branch].append(turn)
        return {name: iter(turns) for name, turns in found.items()}

    def _turns(self, left: dict[str, int]) -> Iterator[Turn]:
        left = dict(left)
        for event in self._read():
            if isinstance(event, Turn) and left.get(event.branch, 0):
                left[event.branch] -= 1
                yield event


class Library:
    """The sessions of one store. Ids may be shortened to any unique prefix, except where something is deleted.

    `forget` is called with this library and an id before a session is deleted for good, and removes what else the
    machine remembers of it.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], datetime] = utc_now,
        forget: Callable[[Library, str], None] = lambda _library, _id: None,
    ) -> None:
        self.store = store
        self._clock = clock
        self._forget = forget

    def __repr__(self) -> str:
        return f"<Library {self.store.url}>"

    def create(
        self,
        *,
        agent: str = "",
        title: str = "",
        tags: Iterable[str] = (),
        id: str | None = None,
        extra: JsonObject | None = None,
    ) -> LiveSession:
        """A new, active session, and its writer. Without an `id` the store makes one, mostly of the agent's name.

        `extra` are fields of the caller's own, kept beside those that every session has.
        """
        now = self._clock()
        for _ in range(_TRIES):
            session_id = check_id(id) if id is not None else self.store.new_id(agent or title, now, os.urandom(16))
            metadata = Metadata(
                session_id=session_id,
                agent=agent,
                created_at=now,
                status="active",
                version=FORMAT_VERSION,
                title=title,
                tags=tuple(dict.fromkeys(tags)),
                id=os.urandom(8).hex(),
                extra=extra or {},
            )
            try:
                writer = self.store.create(session_id, [metadata])
            except SessionExistsError:
                if id is not None:
                    raise
                continue
            return self._live(writer, created=True)
        raise ConflictError(f"could not find a free id for {agent or title or 'a session'}", hint="give one")

    def open(self, id: str, *, timeout_seconds: float = WAIT_SECONDS) -> LiveSession:
        """Become the writer of a session as it is; its status stays."""
        writer = self.store.open(self.resolve(id), timeout_seconds=timeout_seconds)
        return self._live(writer)

    def resume(self, id: str, *, override: bool = False, timeout_seconds: float = WAIT_SECONDS) -> LiveSession:
        """Become the writer of a session and make it active. A completed one only with `override`."""
        session = self.open(id, timeout_seconds=timeout_seconds)
        try:
            session.resume(override=override)
        except BaseException:
            session.release()
            raise
        return session

    def load(self, id: str) -> Session:
        """The whole session, read only; takes no lock and never waits."""
        return self.store.load(self.resolve(id))

    def stream(self, id: str) -> StreamedSession:
        """As `load`, without the turns. All of it is read once, so that DamagedError comes before anything is told."""
        name = self.resolve(id)
        overview = self.store.overview(name)
        unknown = tuple(event for event in self.store.read(name) if isinstance(event, Unknown))
        return StreamedSession(overview, unknown, lambda: self.store.read(name))

    def overview(self, id: str) -> Overview:
        """Everything but the turns, read only, however long the conversation is."""
        return self.store.overview(self.resolve(id))

    def tail(self, id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        return self.store.tail(self.resolve(id), count, branch=branch)

    def list(
        self,
        *,
        agent: str | None = None,
        status: Status | None = None,
        tag: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> list[Head]:
        """What matches every filter, the last active first.

        Unreadable sessions match as long as no filter asks what they hold.
        """
        chosen: Iterable[Head] = self.store.heads()
        if agent is not None:
            chosen = (head for head in chosen if head.agent == agent)
        if status is not None:
            chosen = (head for head in chosen if head.status == status and not head.damage)
        if tag is not None:
            chosen = (head for head in chosen if tag in head.tags)
        if since is not None:
            chosen = (head for head in chosen if head.updated_at >= since)
        ordered = sorted(chosen, key=lambda head: head.updated_at.timestamp(), reverse=True)
        return ordered if limit is None else ordered[:limit]

    def resolve(self, id: str) -> str:
        """The one session that this id, or this beginning of an id, names."""
        check_id(id)
        with suppress(NotFoundError):
            self.store.revision(id)
            return id
        ids = list(self.store.ids())
        matches = sorted(known for known in ids if known.startswith(id))
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise AmbiguousIdError(id, matches)
        near = difflib.get_close_matches(id, ids, n=3, cutoff=0.6)
        raise NotFoundError(
            f"there is no session {id} in {self.store.url}", near=near, hint="" if near else "segue list shows all"
        )

    def follow(self, id: str, *, after: int | None = None, poll_seconds: float = 0.1) -> Iterator[Event]:
        """Every event beyond `after` (beyond those there are now), as others record them, while the session exists."""
        follower = self.follower(id, after=after)
        while (events := follower.poll()) is not None:
            yield from events
            time.sleep(poll_seconds)

    def follower(self, id: str, *, after: int | None = None) -> Follower:
        """What `follow` waits with, for callers that wait in their own way."""
        return Follower(self.store, self.resolve(id), after)

    def discard(self, id: str, *, revision: str | None = None) -> str:
        """Move exactly the session with this id to the trash, never one in use; what it is called there."""
        return self._trash.put(check_id(id), revision=revision)

    def delete(self, id: str, *, revision: str | None = None) -> None:
        """Remove exactly the session with this id for good, never one that merely begins so, never one in use.

        What is in the trash stays there. Where a crash cut it short, calling it again removes the rest.
        """
        owner = self.store.owner(check_id(id))
        if owner is not None:
            raise SessionLockedError(id, pid=owner.pid, host=owner.host, since=owner.since)
        self._forget(self, id)
        self.store.delete(id, revision=revision)

    def has_remains(self, id: str) -> bool:
        """Whether there is anything of exactly this session, and be it only what a cut-off deletion left."""
        return self.store.has_remains(check_id(id))

    def trashed(self) -> tuple[Trashed, ...]:
        """What is in the trash, the last deleted first; nothing where the store has none."""
        found = self.store.trash.entries() if self.store.trash is not None else ()
        return tuple(sorted(found, key=lambda entry: (entry.deleted_at, entry.key), reverse=True))

    def find_trashed(self, id: str) -> Trashed:
        """What a key, an id or the beginning of an id names in the trash; of several with one id the last deleted."""
        entries = self.trashed()
        chosen = [entry for entry in entries if entry.key == id] or [entry for entry in entries if entry.head.id == id]
        if chosen:
            return chosen[0]
        begun = [entry for entry in entries if entry.head.id.startswith(id)]
        names = list(dict.fromkeys(entry.head.id for entry in begun))
        if len(names) > 1:
            raise AmbiguousIdError(id, names)
        if not begun:
            raise NotFoundError(f"{id} is not in the trash of {self.store.url}", hint="segue trash list shows what is")
        return begun[0]

    def restore(self, id: str) -> str:
        """Put a session back from the trash, as it was; its id. SessionExistsError if there is another one by now."""
        return self._trash.restore(self.find_trashed(id).key)

    def erase(self, entry: Trashed) -> None:
        """Delete what is in the trash for good."""
        if not self._exists(entry.head.id):
            self._forget(self, entry.head.id)
        self._trash.erase(entry.key)

    def clean(
        self,
        older_than: timedelta,
        *,
        only: Collection[str] | None = None,
        for_good: bool = False,
        dry_run: bool = False,
    ) -> Cleaned:
        """Move to the trash what has seen no activity for that long; where the store has none, delete it for good.

        Never what is in use, pinned, or cannot be read; and none but those in `only`, if that is given.
        """
        if older_than <= timedelta(0):
            raise UsageError("cleaning needs an age", hint="as in 30d")
        limit = self._clock() - older_than
        removed: list[Head] = []
        kept: list[tuple[Head, str]] = []
        for head in sorted(self.store.heads(), key=lambda head: (head.updated_at, head.id)):
            if head.updated_at >= limit or (only is not None and head.id not in only):
                continue
            try:
                reason, revision = self._why_kept(head, limit)
                if not reason and not dry_run:
                    if for_good or self.store.trash is None:
                        self.delete(head.id, revision=revision)
                    else:
                        self.discard(head.id, revision=revision)
            except NotFoundError:
                continue  # somebody else removed it
            except SegueError as error:
                reason = str(error)
            if reason:
                kept.append((head, reason))
            else:
                removed.append(head)
        if not dry_run:
            with suppress(SegueError):
                self.store.sweep()
        return Cleaned(removed=tuple(removed), kept=tuple(kept))

    def verify(self, id: str) -> Examination:
        """Read every byte of a session: what can be read, and every damage with its place."""
        return self.store.examine(self.resolve(id))

    def recover(self, id: str) -> Recovery:
        """Salvage a damaged session; the original is kept beside it."""
        return self.store.recover(self.resolve(id))

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _live(self, writer: Writer, *, created: bool = False) -> LiveSession:
        """The object people hold; a tool whose sessions do more gives one of its own kind."""
        return LiveSession(self.store, writer, self._clock, created=created)

    @property
    def _trash(self) -> Trash:
        if self.store.trash is None:
            raise UsageError(f"{self.store.url} has no trash", hint="what is deleted there is deleted for good")
        return self.store.trash

    def _exists(self, id: str) -> bool:
        try:
            self.store.revision(id)
        except NotFoundError:
            return False
        return True

    def _why_kept(self, head: Head, limit: datetime) -> tuple[str, str]:
        """Why an old session must stay, empty if nothing speaks against it; and the revision of which that is true."""
        if head.damage:
            return f"it cannot be read ({head.damage})", ""
        if PINNED in head.tags:
            return "it is pinned", ""
        if self.store.owner(head.id) is not None:
            return "it is in use", ""
        revision = self.store.revision(head.id)
        examination = self.store.examine(head.id)
        session = examination.session
        if examination.damages or session is None:
            return f"it is damaged ({examination.damages[0]})", ""
        if PINNED in session.tags:
            return "it is pinned", ""
        if last_activity(session.updated_at, self.store.changed_at(head.id)) >= limit:
            return "it was used meanwhile", ""
        return "", revision
