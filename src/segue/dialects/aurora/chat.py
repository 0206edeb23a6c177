"""The conversations of `aur spawn`: started or resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.agents.resolved import ChatSettings
from segue.chat.agents.resolver import AgentResolver
from segue.chat.dialect import Dialect
from segue.chat.lifecycle import run, start
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.surface import open_surface
from segue.dialects.aurora.expiry import BackgroundExpiry
from segue.dialects.aurora.hints import HINTS
from segue.dialects.aurora.sessions import find_session, show_table
from segue.dialects.resuming import check_resumable, resume_conversation
from segue.errors import AmbiguousIdError, NotFoundError
from segue.presets import preset_sources

if TYPE_CHECKING:
    from pathlib import Path

    from segue.chat.conversation import Conversation
    from segue.dialects.aurora.config import AuroraConfig
    from segue.dialects.aurora.paths import AuroraPaths
    from segue.library import Library

NOT_FOUND = Exit.DECLINED
"""The exit code of `--resume` for an unknown session: 1, as scripts of Aurora expect."""


class AuroraChat:
    """Starts and resumes conversations with Aurora's files and settings."""

    def __init__(self, library: Library, paths: AuroraPaths, config: AuroraConfig) -> None:
        self._library = library
        self._paths = paths
        self._config = config
        surface = open_surface(history=paths.history)
        self._terminal = surface.terminal
        self._resolver = AgentResolver(
            surface,
            sources=preset_sources("aurora", user=paths.agents, home=surface.home, cwd=surface.cwd, shipped=None),
            settings=ChatSettings(max_tokens=config.max_tokens),
        )

    def start(self, agent: str, id: str | None) -> int:
        resolved = self._resolver.choose(agent)
        return self._run(start(self._library, self._resolver, resolved, id=id))

    def resume(self, id: str, agent: str) -> int:
        try:
            name = find_session(self._library, id)
        except AmbiguousIdError:
            raise
        except NotFoundError as error:
            return self._show_not_found(error)
        recovery = f"aur spawn --resume {name}"
        before = check_resumable(self._library, name, self._terminal, recovery=recovery, reopen=True)
        if isinstance(before, Exit):
            return before
        return self._run(resume_conversation(self._library, self._resolver, before, agent=agent))

    def _show_not_found(self, error: NotFoundError) -> int:
        heads = self._library.list()
        output.error(str(error), error.hint)
        if heads:
            show_table(heads)
        else:
            output.warn("no sessions found; start one with aur spawn -i")
        return NOT_FOUND

    def _run(self, conversation: Conversation) -> int:
        """Chat until the user leaves. Expired sessions are cleaned meanwhile; this one is in use, so it stays."""
        with BackgroundExpiry(self._library.store.url, self._config.session_expiry_days):
            return run(self._library, conversation, self._resolver, dialect=aurora_dialect(self._paths.sessions))


def aurora_dialect(sessions: Path) -> Dialect:
    folder = str(sessions).replace("{", "{{").replace("}", "}}")
    return Dialect(
        name="aur",
        prompt="@{agent}> ",
        resume=HINTS.resume,
        hint_for=HINTS.hint_for,
        farewell=f"Session saved: {folder}/{{id}}.jsonl\nResume with: {{resume}}",
        exit_status="completed",
        idle_seconds=0,
        keeps_blank=True,
    )
