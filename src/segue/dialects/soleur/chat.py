"""The conversations of `soleur`: started or resumed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from segue.chat.agents.resolved import ChatSettings
from segue.chat.agents.resolver import AgentResolver
from segue.chat.dialect import Dialect
from segue.chat.lifecycle import run, start
from segue.chat.terminal.script import answer_of, choices
from segue.console.durations import ago
from segue.console.exit_codes import Exit
from segue.console.surface import open_surface
from segue.dialects.resuming import check_resumable, find_named, resume_conversation
from segue.dialects.soleur.hints import HINTS
from segue.dialects.soleur.ledger import Ledger
from segue.dialects.soleur.ledger_session import LedgerLibrary
from segue.dialects.soleur.paths import SHIPPED, project_name
from segue.dialects.soleur.sessions import open_store, preview
from segue.errors import SegueError
from segue.presets import preset_sources

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from segue.chat.conversation import Conversation
    from segue.dialects.soleur.paths import SoleurPaths
    from segue.model import Head

PARTNER = "sparring-partner"
"""The default preset. A file of this name in a folder of the user replaces it."""


class SoleurChat:
    """Starts and resumes conversations with Soleur's files and settings."""

    def __init__(self, paths: SoleurPaths) -> None:
        self._paths = paths
        surface = open_surface(history=paths.history)
        self._terminal = surface.terminal
        self._store = open_store(paths)
        self._library = LedgerLibrary(
            self._store,
            Ledger(paths.decisions),
            project=project_name(surface.cwd),
            report=self._terminal.error,
        )
        self._resolver = AgentResolver(
            surface,
            sources=preset_sources("soleur", user=paths.agents, home=surface.home, cwd=surface.cwd, shipped=SHIPPED),
            settings=ChatSettings(agent=PARTNER),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.close()

    def start(self, agent: str, *, fresh: bool) -> int:
        """Offer to resume the last session, if there is one; otherwise start a new one."""
        is_partner = not agent or self._resolver.presets.find(agent) is not None
        resolved = self._resolver.choose(agent, preset="" if is_partner else PARTNER)
        last = None if fresh else self._last()
        if last is not None:
            self._terminal.note(
                f"{last.id[:8]} · {ago(last.updated_at, datetime.now(UTC))} · {preview(self._store, last)}"
            )
            answer = self._confirm_last()
            if answer is None:
                return Exit.INTERRUPTED
            if answer:
                return self.resume(last.id, agent)
        return self._run(start(self._library, self._resolver, resolved))

    def resume(self, id: str, agent: str) -> int:
        name = find_named(self._library, id)
        before = check_resumable(self._library, name, self._terminal, recovery=f"soleur load {name}", reopen=True)
        if isinstance(before, Exit):
            return before
        return self._run(resume_conversation(self._library, self._resolver, before, agent=agent))

    def _confirm_last(self) -> bool | None:
        """Whether to resume the last session; None if the user leaves with Ctrl-C or Ctrl-D instead of an answer."""
        question = "Resume last session?"
        if not self._terminal.is_interactive:
            return self._terminal.ask(question, default=True)
        while True:
            line = self._terminal.answer(f"{question} {choices(default=True)}")
            if line is None:
                return None
            if (answer := answer_of(line, default=True)) is not None:
                return answer

    def _last(self) -> Head | None:
        """The last active session that can be resumed: readable, not empty, and not open in another process."""
        for head in self._library.list():
            if head.damage:
                self._terminal.note(f"session {head.id} is damaged; recover or delete it with soleur load {head.id}")
            elif head.status != "active" and not self._is_empty(head):
                return head
        return None

    def _is_empty(self, head: Head) -> bool:
        """Whether nothing was said, decided or attached in it on any branch."""
        if head.turn_count:
            return False
        try:
            about = self._store.overview(head.id)
        except SegueError:  # damaged or deleted since it was listed
            return True
        own = sum(branch.own for branch in about.branches.values())
        return not (own or about.decisions or about.attachments or about.title or about.summary)

    def _run(self, conversation: Conversation) -> int:
        conversation.autorecord = True
        return run(self._library, conversation, self._resolver, dialect=self._dialect())

    def _dialect(self) -> Dialect:
        folder, project = (
            str(text).replace("{", "{{").replace("}", "}}") for text in (self._paths.sessions, self._library.project)
        )
        return Dialect(
            name="soleur",
            greeting=f"session {{id}} · project {project}\n/help lists the commands, /quit leaves",
            idle_seconds=0,
            keeps_blank=True,
            resume=HINTS.resume,
            hint_for=HINTS.hint_for,
            farewell=f"Session saved: {folder}/{{id}}.json\nResume with: {{resume}}",
            autorecord=True,
            offers=("README.md",),
        )
