"""Finds sessions of a store by filters, by parts of their ids and by words: in the store itself, or among its heads."""

from __future__ import annotations

import difflib
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.errors import AmbiguousIdError, DamagedError, NotFoundError, SessionNotFoundError
from segue.ids import check_id, match_ids, match_named
from segue.library_results import names_of
from segue.model import Record
from segue.queries import NEAR, Filters, candidates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from segue.durable.folder import Folder
    from segue.index import Index
    from segue.model import Head, Status
    from segue.store import Store


def exists(store: Store, id: str) -> bool:
    try:
        store.revision(id)
    except NotFoundError:
        return False
    return True


def list_heads(
    store: Store,
    *,
    agent: str | None = None,
    status: Status | None = None,
    tag: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
) -> list[Head]:
    """The sessions that match every filter, the last active first."""
    if store.queries is not None:
        filters = Filters(agent=agent, status=status, tag=tag, since=since, until=until)
        return [one.head for one in store.queries.list(filters, limit)]
    chosen: Iterable[Head] = store.heads()
    if agent is not None:
        chosen = (head for head in chosen if head.agent == agent)
    if status is not None:
        chosen = (head for head in chosen if head.status == status and not head.damage)
    if tag is not None:
        chosen = (head for head in chosen if tag in head.tags)
    if since is not None:
        chosen = (head for head in chosen if head.updated_at >= since)
    if until is not None:
        chosen = (head for head in chosen if head.updated_at < until)
    ordered = sorted(chosen, key=lambda head: head.updated_at.timestamp(), reverse=True)
    return ordered if limit is None else ordered[:limit]


def resolve_id(store: Store, id: str) -> str:
    """The id of the one session that this id, or else this beginning or this end of an id, names."""
    check_id(id)
    if exists(store, id):
        return id
    ids = sorted(store.queries.near_ids([id], NEAR)) if store.queries is not None else list(store.ids())
    matches = match_ids(id, ids)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise AmbiguousIdError(id, matches)
    raise SessionNotFoundError(id, store.url, near=difflib.get_close_matches(id, ids, n=3, cutoff=0.6))


def list_candidates(store: Store, text: str) -> list[Head]:
    """The sessions that a text may mean by an id or a name: of a store that may have very many, a bounded number."""
    return list_heads(store) if store.queries is None else [one.head for one in candidates(store.queries, text)]


def find_named(store: Store, text: str) -> list[Head]:
    """The sessions that `match_named` finds by their id, title or tags, the last active first."""
    return match_named(text, list_candidates(store, text), names_of)


def find_record(
    store: Store, id: str, *, agent: str | None = None, index_folder: Folder | None = None
) -> tuple[str, Record] | None:
    """The record of a program with this event id, and the session that has it: see `Library.find_record`.

    The index need not be up to date: what it has is looked up in the store, and what it does not have is read.
    """
    if store.queries is not None:
        return store.queries.find_record(id, agent=agent)
    if index_folder is None:
        return _read_record(store, id, agent)
    from segue.index import Index, StoreSource

    source = StoreSource(store)
    with Index(index_folder) as index:
        if (found := _indexed_record(index, store, id, agent)) is not None:
            return found
        result = index.refresh([source])
        for _, error in result.failed:
            raise error
        found = _indexed_record(index, store, id, agent)
    return _read_record(store, id, agent) if found is None and result.is_stale else found


def _indexed_record(index: Index, store: Store, id: str, agent: str | None) -> tuple[str, Record] | None:
    """The index may be older than the sessions, and has ids without surrogates."""
    for session_id, seq in index.find_record(store.url, id, agent=agent):
        with suppress(NotFoundError, DamagedError):  # deleted or damaged since
            event = next(iter(store.read(session_id, after=seq - 1)), None)
            if isinstance(event, Record) and event.id == id:
                return session_id, event
    return None


def _read_record(store: Store, id: str, agent: str | None) -> tuple[str, Record] | None:
    """Read all sessions."""
    for head in list_heads(store, agent=agent):
        with suppress(NotFoundError, DamagedError):
            for event in store.read(head.id):
                if isinstance(event, Record) and event.id == id:
                    return head.id, event
    return None


def with_ids(store: Store, ids: Collection[str]) -> list[Head]:
    """The sessions with these ids, as far as there are such, the last active first."""
    if store.queries is None:
        return [head for head in list_heads(store) if head.id in ids]
    return [one.head for one in store.queries.list(Filters(ids=tuple(ids)))]
