"""Following a session that somebody else writes: what is new since the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import NotFoundError

if TYPE_CHECKING:
    from segue.model import Event
    from segue.store import Store


class Follower:
    """Remembers how far it has read. Reads nothing while the session does not change, and never waits."""

    def __init__(self, store: Store, session_id: str, after: int | None) -> None:
        self._store = store
        self._session_id = session_id
        self._after = store.overview(session_id).seq if after is None else after
        self._revision = ""

    def poll(self) -> list[Event] | None:
        """The events recorded since the last look, in order; None once the session is gone."""
        try:
            revision = self._store.revision(self._session_id)
            if revision == self._revision:
                return []
            events = list(self._store.read(self._session_id, after=self._after))
        except NotFoundError:
            return None
        self._revision = revision
        if events:
            self._after = events[-1].seq
        return events
