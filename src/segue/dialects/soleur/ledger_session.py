"""Soleur's sessions: each belongs to a project, and what is decided in one also goes to the project's ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.console.traces import forget
from segue.dialects.soleur.ledger import LedgerEntry
from segue.errors import SegueError
from segue.library import Library
from segue.session import LiveSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from segue.dialects.soleur.ledger import Ledger
    from segue.model import JsonObject
    from segue.store import Receipt, Store, Writer


class LedgerSession(LiveSession):
    """Decides in the session first: that is the record, and the ledger is made of it."""

    def __init__(self, library: LedgerLibrary, writer: Writer, *, created: bool = False) -> None:
        super().__init__(library.store, writer, library.clock, created=created)
        self._library = library
        project = self.overview.extra.get("project_name")
        self._project = project if isinstance(project, str) and project else library.project
        # A crash may have come between the two. Otherwise what is not in the ledger was taken out by a person.
        self._published = set() if self.status == "interrupted" else {one.id for one in self.overview.decisions}

    def decide(self, content: str, *, tags: Iterable[str] = (), source: str = "") -> Receipt:
        receipt = super().decide(content, tags=tags, source=source)
        self.publish()
        return receipt

    def publish(self) -> None:
        """Bring the ledger up to date. That it fails is told, and tried again with the next decision."""
        new = [
            LedgerEntry(session_id=self.id, id=one.id, content=one.content, decided_at=one.timestamp)
            for one in self.overview.decisions
            if one.id not in self._published
        ]
        if not new:
            return
        try:
            self._library.ledger.add(self._project, new)
        except SegueError as error:
            self._library.complain(f"the decision is in the session, and not in the ledger: {error}")
        else:
            self._published.update(entry.id for entry in new)


class LedgerLibrary(Library):
    """A library whose sessions are of this kind."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        *,
        project: str,
        complain: Callable[[str], None],
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(store, clock=clock, forget=forget)
        self.clock = clock
        self.ledger = ledger
        self.project = project
        self.complain = complain

    def create(
        self,
        *,
        agent: str = "",
        title: str = "",
        tags: Iterable[str] = (),
        id: str | None = None,
        extra: JsonObject | None = None,
    ) -> LiveSession:
        of_the_project = {"project_name": self.project, **(extra or {})}
        return super().create(agent=agent, title=title, tags=tags, id=id, extra=of_the_project)

    def _live(self, writer: Writer, *, created: bool = False) -> LiveSession:
        session = LedgerSession(self, writer, created=created)
        session.publish()
        return session
