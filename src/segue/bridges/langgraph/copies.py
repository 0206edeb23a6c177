"""A copy of a thread: its session under another name."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import NotFoundError, SessionExistsError
from segue.model import Metadata
from segue.model.blobs import blob_names

if TYPE_CHECKING:
    from segue.bridges.sessions import NamedSessions


def copy_session(sessions: NamedSessions, source: str, target: str) -> None:
    """Record everything of one session in another one, at once. SessionExistsError if that has anything recorded."""
    events = [replace(event, seq=0) for event in sessions.read(source) if not isinstance(event, Metadata)]
    if not events:
        return
    with sessions.writing(target) as session:
        if session.overview.seq > 1:
            raise SessionExistsError(session.id)
        for name in sorted(blob_names(*events)):
            with suppress(NotFoundError):  # a text may look like the name of a blob
                session.put_blob(sessions.store.get_blob(sessions.id_of(source), name))
        session.record(*events, ids_are_new=True)
