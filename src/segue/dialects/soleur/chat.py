"""A conversation as `soleur` holds it: the last one again, another one, or a new one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from segue.chat.agents.resolver import AgentResolver, ChatSettings
from segue.chat.dialect import Dialect
from segue.chat.lifecycle import run, start
from segue.console.durations import ago
from segue.console.surface import open_surface
from segue.dialects.resuming import offer_recovery, resume_conversation
from segue.dialects.soleur.hints import HINTS
from segue.dialects.soleur.ledger import Ledger
from segue.dialects.soleur.ledger_session import LedgerLibrary
from segue.dialects.soleur.paths import SHIPPED, project_of
from segue.dialects.soleur.sessions import preview
from segue.library import open as open_library
from segue.presets import preset_sources

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from segue.chat.conversation import Conversation
    from segue.dialects.soleur.paths import SoleurPaths
    from segue.model import Head

PARTNER = "sparring-partner"
"""The preset that answers unless another is named; a file of this name in a folder of yours takes its place."""


class SoleurChat:
    """All that a conversation needs, found in the places that Soleur has."""

    def __init__(self, places: SoleurPaths) -> None:
        self._places = places
        surface = open_surface(history=places.history)
        self._terminal = surface.terminal
        self._library = LedgerLibrary(
            open_library(f"soleur:{places.sessions}").store,
            Ledger(places.decisions),
            project=project_of(surface.cwd),
            complain=self._terminal.error,
        )
        self._resolver = AgentResolver(
            surface,
            sources=preset_sources("soleur", user=places.agents, home=surface.home, cwd=surface.cwd, shipped=SHIPPED),
            settings=ChatSettings(agent=PARTNER),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.close()

    def start(self, agent: str, *, fresh: bool) -> int:
        """Ask whether to go on with the last session, if there is one; else begin one."""
        is_partner = not agent or self._resolver.presets.find(agent) is not None
        resolved = self._resolver.choose(agent, preset="" if is_partner else PARTNER)
        last = None if fresh else self._last()
        if last is not None:
            self._terminal.note(f"{last.id[:8]} · {ago(last.updated_at, datetime.now(UTC))} · {self._preview(last)}")
            if self._terminal.ask("Resume last session?", default=True):
                return self.load(last.id, agent)
        return self._hold(start(self._library, self._resolver, resolved))

    def load(self, id: str, agent: str) -> int:
        name = self._library.resolve(id)
        damages = self._library.verify(name).damages
        if damages:
            left = offer_recovery(self._library, name, damages, self._terminal, again=f"soleur load {name}")
            if left is not None:
                return left
        return self._hold(resume_conversation(self._library, self._resolver, name, self._terminal, agent=agent))

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
        return run(self._library, conversation, self._resolver, dialect=self._dialect())

    def _dialect(self) -> Dialect:
        folder, project = (
            str(text).replace("{", "{{").replace("}", "}}") for text in (self._places.sessions, self._library.project)
        )
        return Dialect(
            name="soleur",
            greeting=f"session {{id}} · project {project}\n/help lists the commands, /quit leaves",
            idle_seconds=0,
            keeps_blank=True,
            resume=HINTS.resume,
            hint_for=HINTS.hint_for,
            farewell=f"Session saved: {folder}/{{id}}.json\nCome back with: {{resume}}",
            autorecord=True,
            offers=("README.md",),
        )
