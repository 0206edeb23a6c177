"""Many sessions: create, find, list, search, follow, clean."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from segue.clock import utc_now
from segue.closing import Closing
from segue.errors import (
    AmbiguousIdError,
    ConflictError,
    NotFoundError,
    NotInTrashError,
    SegueError,
    SessionExistsError,
    SessionLockedError,
    UsageError,
)
from segue.ids import check_id, match_named
from segue.library_results import Cleaned, Follower, SearchResult, StreamedSession, names_of, stream_session
from segue.lookup import exists, find_named, find_record, list_heads, resolve_id, with_ids
from segue.model import Event, Head, Metadata, Overview, Turn, last_activity
from segue.queries import MOST, Filters
from segue.registry import open_store
from segue.session import LiveSession
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Durability
from segue.user_folders import cache_folder, default_store_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from segue.durable.folder import Folder
    from segue.index import SearchHit
    from segue.model import JsonObject, Record, Session, Status
    from segue.store import Examination, Recovery, Store, Trash, Trashed, Writer

T = TypeVar("T")

PINNED = "pinned"
"""The tag of a session that is never cleaned."""

_ID_ATTEMPTS = 20


def open(
    url: str | None = None,
    *,
    durability: Durability = Durability.SYNCED,
    clock: Callable[[], datetime] = utc_now,
) -> Library:
    """Open the store that the URL names, or the user's own. Nothing is created until the first session is.

    The user's own store is the one of the `segue` command: `SEGUE_STORE`, else `store` in the configuration of
    the user, else a journal in the user's state folder.
    """
    url = default_store_url() if url is None else url
    scheme, colon, path = url.partition(":")
    if path.startswith("~"):
        url = f"{scheme}{colon}{Path(path).expanduser()}"
    store = open_store(url, clock=clock, durability=durability)
    return Library(store, clock=clock, index_folder=cache_folder)


class Library(Closing):
    """The sessions of one store. Ids may be shortened to a unique beginning or end, except to delete a session.

    `forget` is called with this library and an id before a session is deleted for good; it removes the session's
    traces outside the store. `index_folder` gives the folder in which `search` looks for an index.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], datetime] = utc_now,
        forget: Callable[[Library, str], None] = lambda _library, _id: None,
        index_folder: Callable[[], Folder | None] = lambda: None,
    ) -> None:
        self.store = store
        self._clock = clock
        self._forget = forget
        self._index_folder = index_folder

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
        """Create an active session and become its writer. Without an `id` the store makes one from the agent's name.

        `extra` holds the caller's own fields; they are stored with those that every session has.
        """
        now = self._clock()
        for _ in range(_ID_ATTEMPTS):
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
        raise ConflictError(f"could not find a free id for {agent or title or 'a session'}", hint="choose one")

    def open(self, id: str, *, timeout_seconds: float = WAIT_SECONDS) -> LiveSession:
        """Become the writer of a session. Its status does not change."""
        writer = self._resolving(id, lambda found: self.store.open(found, timeout_seconds=timeout_seconds))
        return self._live(writer)

    def resume(self, id: str, *, force: bool = False, timeout_seconds: float = WAIT_SECONDS) -> LiveSession:
        """Become the writer of a session and make it active. A completed session needs `force`."""
        session = self.open(id, timeout_seconds=timeout_seconds)
        try:
            session.resume(force=force)
        except BaseException:
            session.release()
            raise
        return session

    def load(self, id: str) -> Session:
        """The whole session, read only. It takes no lock and never waits."""
        return self._resolving(id, self.store.load)

    def stream(self, id: str) -> StreamedSession:
        """Like `load`, but the turns are read later. The session is read once first, to raise DamagedError early."""
        return stream_session(self.store, self.resolve(id))

    def overview(self, id: str) -> Overview:
        """Everything but the turns, read only, at a cost that does not grow with the conversation."""
        return self._resolving(id, self.store.overview)

    def tail(self, id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        """The last turns of a branch, or of the active one, oldest first."""
        return self._resolving(id, lambda found: self.store.tail(found, count, branch=branch))

    def list(
        self,
        *,
        agent: str | None = None,
        status: Status | None = None,
        tag: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> list[Head]:
        """The sessions that match every filter, the last active first.

        A session that cannot be read matches unless a filter needs its content.
        """
        return list_heads(self.store, agent=agent, status=status, tag=tag, since=since, limit=limit)

    def search(
        self,
        text: str,
        *,
        agent: str | None = None,
        status: Status | None = None,
        tag: str | None = None,
        since: datetime | None = None,
        branch: str | None = None,
        limit: int | None = 20,
    ) -> tuple[SearchResult, ...]:
        """The sessions in which all words occur in the same turn, title, summary, decision or learning; best first.

        Quote a phrase to match it exactly; `word*` matches a prefix. A store that can searches by itself. Of
        others, the search uses and updates the index of the `segue` command where there is one; otherwise it reads all
        sessions into memory and creates no file.
        """
        from segue.index import Index, StoreSource, has_index

        has_copy = self.store.capabilities.shared and self.store.queries is None
        folder = self._index_folder() if has_copy else None
        source = StoreSource(self.store)
        filters = Filters(sources=(source.name,), agent=agent, status=status, tag=tag, since=since, branch=branch)
        with Index(folder if folder is not None and has_index(folder) else None) as index:
            for _, error in index.refresh([source]).failed:
                raise error
            return tuple(self._search_result(hit) for hit in index.search(text, filters, limit=limit))

    def find(self, text: str) -> Sequence[Head]:
        """The sessions that a text means, the last active first.

        They are found as `resolve` does, or else by words of their id, title or tags, or else as `search` does.
        """
        found = find_named(self.store, text)
        if not found:
            with suppress(UsageError):  # there is no word in it
                limit = None if self.store.queries is None else MOST
                found = with_ids(self.store, {result.session_id for result in self.search(text, limit=limit)})
        return tuple(found)

    def find_record(self, id: str, *, agent: str | None = None) -> tuple[str, Record] | None:
        """The record of a program with this event id, and the id of the session that has it; None if there is none.

        If several sessions have it, one of them; a damaged session is passed by. Where the store cannot answer, the
        index of the `segue` command does, which is created if need be.
        """
        folder = self._index_folder() if self.store.capabilities.shared and self.store.queries is None else None
        return find_record(self.store, id, agent=agent, index_folder=folder)

    def resolve(self, id: str) -> str:
        """The id of the one session that this id, or else this beginning or this end of an id, names."""
        return resolve_id(self.store, id)

    def _resolving(self, id: str, call: Callable[[str], T]) -> T:
        """Call with the id as it is, which is nearly always whole; and with the one that it names if there is none."""
        try:
            return call(check_id(id))
        except NotFoundError:
            if (found := self.resolve(id)) == id:
                raise
        return call(found)

    def follow(self, id: str, *, after: int | None = None, poll_seconds: float = 0.1) -> Iterator[Event]:
        """Yield the events after `after` (by default: the new ones) as other processes record them.

        It ends when the session is deleted.
        """
        follower = self.follower(id, after=after)
        while (events := follower.poll()) is not None:
            yield from events
            time.sleep(poll_seconds)

    def follower(self, id: str, *, after: int | None = None) -> Follower:
        """Like `follow`, for callers that wait between polls in their own way."""
        return Follower(self.store, self.resolve(id), after)

    def discard(self, id: str, *, revision: str | None = None) -> str:
        """Move the session with exactly this id to the trash, unless it is in use; its key in the trash."""
        return self._trash.put(check_id(id), revision=revision)

    def delete(self, id: str, *, revision: str | None = None) -> None:
        """Delete the session with exactly this id for good, unless it is in use.

        The trash is not touched. If a crash interrupts the deletion, calling it again removes the rest.
        """
        owner = self.store.owner(check_id(id))
        if owner is not None:
            raise SessionLockedError(id, pid=owner.pid, host=owner.host, since=owner.since)
        self._forget(self, id)
        self.store.delete(id, revision=revision)

    def has_remains(self, id: str) -> bool:
        """Whether there is anything left of exactly this session, even after an interrupted deletion."""
        return self.store.has_remains(check_id(id))

    def trashed(self) -> tuple[Trashed, ...]:
        """The sessions in the trash, the last deleted first; none where the store has no trash."""
        found = self.store.trash.entries() if self.store.trash is not None else ()
        return tuple(sorted(found, key=lambda entry: (entry.deleted_at, entry.key), reverse=True))

    def find_trashed(self, id: str) -> Trashed:
        """The session in the trash with this key, id, part of an id or words of its title.

        Of several with one id, it is the last deleted.
        """
        entries = self.trashed()
        if keyed := [entry for entry in entries if entry.key == id]:
            return keyed[0]
        found = match_named(id, entries, lambda entry: names_of(entry.head))
        if not found:
            raise NotInTrashError(id, self.store.url)
        if len(names := sorted({entry.head.id for entry in found})) > 1:
            raise AmbiguousIdError(id, names)
        return found[0]

    def restore(self, id: str) -> str:
        """Restore a session from the trash; its id. SessionExistsError if the id has been taken since."""
        return self._trash.restore(self.find_trashed(id).key)

    def erase(self, entry: Trashed) -> None:
        """Delete a session in the trash for good."""
        if not exists(self.store, entry.head.id):
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
        """Move sessions without activity for that long to the trash; if the store has none, delete them for good.

        Sessions that are in use, pinned or unreadable stay. With `only`, all others stay as well.
        """
        if older_than <= timedelta(0):
            raise UsageError("cleaning needs an age", hint="as in 30d")
        limit = self._clock() - older_than
        removed: list[Head] = []
        kept: list[tuple[Head, str]] = []
        for head in sorted(list_heads(self.store, until=limit), key=lambda head: (head.updated_at, head.id)):
            if only is not None and head.id not in only:
                continue
            try:
                reason, revision = self._why_kept(head, limit)
                if not reason and not dry_run:
                    if for_good or self.store.trash is None:
                        self.delete(head.id, revision=revision)
                    else:
                        self.discard(head.id, revision=revision)
            except NotFoundError:
                continue  # another process removed it
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
        """Read every byte of a session and report what can be read, and every damage with its place."""
        return self.store.examine(self.resolve(id))

    def recover(self, id: str) -> Recovery:
        """Salvage a damaged session; the original is saved next to it."""
        return self.store.recover(self.resolve(id))

    def close(self) -> None:
        self.store.close()

    def _search_result(self, hit: SearchHit) -> SearchResult:
        turn = None
        if hit.is_in_turn:
            with suppress(SegueError):  # deleted or damaged since
                turn = next(iter(self.store.read(hit.entry.id, after=hit.seq - 1)), None)
        return SearchResult(
            session_id=hit.entry.id,
            title=hit.entry.title,
            kind=hit.kind,
            snippet="".join(text for text, _ in hit.snippet),
            turn=turn if isinstance(turn, Turn) else None,
            matches=hit.matches,
        )

    def _live(self, writer: Writer, *, created: bool = False) -> LiveSession:
        """Wrap a writer; a dialect returns its own subclass here."""
        return LiveSession(self.store, writer, self._clock, created=created)

    @property
    def _trash(self) -> Trash:
        if self.store.trash is None:
            raise UsageError(f"{self.store.url} has no trash", hint="what is deleted there is deleted for good")
        return self.store.trash

    def _why_kept(self, head: Head, limit: datetime) -> tuple[str, str]:
        """The reason why an old session must stay, or an empty text; and the revision for which that is true."""
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
