"""Soleur's sessions: each belongs to a project, and its decisions are also written to the ledger of the project."""

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
    """Records a decision in the session first, then in the ledger."""

    def __init__(self, library: LedgerLibrary, writer: Writer, *, created: bool = False) -> None:
        super().__init__(library.store, writer, library.clock, created=created)
        self._library = library
        project = self.overview.extra.get("project_name")
        self._project = project if isinstance(project, str) and project else library.project
        # After a crash, a decision may be missing in the ledger. Otherwise the user has removed it there.
        self._published = set() if self.status == "interrupted" else {one.id for one in self.overview.decisions}

    def decide(self, content: str, *, tags: Iterable[str] = (), source: str = "") -> Receipt:
        receipt = super().decide(content, tags=tags, source=source)
        self.publish()
        return receipt

    def publish(self) -> None:
        """Bring the ledger up to date. A failure is reported, and tried again with the next decision."""
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
            self._library.report(f"the decision is saved in the session, but not in the ledger: {error}")
        else:
            self._published.update(entry.id for entry in new)


class LedgerLibrary(Library):
    """A library of LedgerSessions."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        *,
        project: str,
        report: Callable[[str], None],
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(store, clock=clock, forget=forget)
        self.clock = clock
        self.ledger = ledger
        self.project = project
        self.report = report

    def create(
        self,
        *,
        agent: str = "",
        title: str = "",
        tags: Iterable[str] = (),
        id: str | None = None,
        extra: JsonObject | None = None,
    ) -> LiveSession:
        project_fields = {"project_name": self.project, **(extra or {})}
        return super().create(agent=agent, title=title, tags=tags, id=id, extra=project_fields)

    def _live(self, writer: Writer, *, created: bool = False) -> LiveSession:
        session = LedgerSession(self, writer, created=created)
        session.publish()
        return session
