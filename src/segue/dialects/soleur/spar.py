"""A conversation as `soleur` holds it: the last one again, another one, or a new one."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from segue.chat.company import Company, preset_folders
from segue.chat.company import Settings as CompanySettings
from segue.chat.consent import trusting
from segue.chat.dialect import Dialect
from segue.chat.drafts import Drafts
from segue.chat.start import begin, hold
from segue.console import output
from segue.console.moments import ago
from segue.console.places import trust_folder
from segue.dialects.door import here, mend, return_to
from segue.dialects.soleur.ledger import Ledger
from segue.dialects.soleur.places import project_of
from segue.dialects.soleur.sessions import preview
from segue.dialects.soleur.sparring import SparringLibrary
from segue.library import open as open_library
from segue.trust import Trust

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from segue.chat.engine import Conversation
    from segue.dialects.soleur.places import Places
    from segue.model import Head

PARTNER = "sparring-partner"
"""The preset that answers unless another is named; a file of this name in a folder of yours takes its place."""


class Spar:
    """All that a conversation needs, found in the places that Soleur has."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._cwd = here()
        self._terminal = output.conversation(places.history)
        self._library = SparringLibrary(
            open_library(f"soleur:{places.sessions}").store,
            Ledger(places.decisions),
            project=project_of(self._cwd),
            complain=self._terminal.error,
        )
        self._company = Company(
            environ=os.environ,
            folders=[*places.agents, *preset_folders(self._cwd, places.project_agents)],
            trusted=places.agents,
            settings=CompanySettings(agent=PARTNER),
            confirm=trusting(self._terminal),
            trust=Trust(trust_folder()),
            tell=self._terminal.note,
            drafts=Drafts(places.history.parent / "drafts"),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.close()

    def start(self, agent: str, *, fresh: bool) -> int:
        """Ask whether to go on with the last session, if there is one; else begin one."""
        is_partner = not agent or self._company.presets.find(agent) is not None
        cast = self._company.choose(agent, preset="" if is_partner else PARTNER)
        last = None if fresh else self._last()
        if last is not None:
            self._terminal.note(f"{last.id[:8]} · {ago(last.updated_at, datetime.now(UTC))} · {self._preview(last)}")
            if self._terminal.ask("Resume last session?", default=True):
                return self.load(last.id, agent)
        return self._hold(begin(self._library, self._company, cast))

    def load(self, id: str, agent: str) -> int:
        name = self._library.resolve(id)
        damages = self._library.verify(name).damages
        if damages:
            left = mend(self._library, name, damages, self._terminal, again=f"soleur load {name}")
            if left is not None:
                return left
        return self._hold(return_to(self._library, self._company, name, self._terminal, agent=agent))

    def _last(self) -> Head | None:
        """The session that was active last and can be gone on with: readable, and in nobody else's hands."""
        for head in self._library.list():
            if head.damage:
                self._terminal.note(f"session {head.id} is damaged; soleur load {head.id} asks what to do with it")
            elif head.status != "active":
                return head
        return None

    def _preview(self, head: Head) -> str:
        return preview(self._library, head)

    def _hold(self, conversation: Conversation) -> int:
        conversation.autorecord = True
        return hold(
            self._library,
            conversation,
            self._company,
            dialect=self._dialect(),
            terminal=self._terminal,
            cwd=self._cwd,
            home=self._places.home,
        )

    def _dialect(self) -> Dialect:
        folder, project = (
            str(text).replace("{", "{{").replace("}", "}}") for text in (self._places.sessions, self._library.project)
        )
        return Dialect(
            name="soleur",
            greeting=f"session {{id}} · project {project}\n/help lists the commands, /quit leaves",
            idle_seconds=0,
            keeps_blank=True,
            resume="soleur load {id}",
            farewell=f"Session saved: {folder}/{{id}}.json\nCome back with: {{resume}}",
            autorecord=True,
            offers=("README.md",),
        )
