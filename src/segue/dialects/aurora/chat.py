"""A conversation as `aur spawn` holds it: begun, or come back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.agents.resolver import AgentResolver, ChatSettings
from segue.chat.dialect import Dialect
from segue.chat.lifecycle import run, start
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.surface import open_surface
from segue.dialects.aurora.expiry import Expiry
from segue.dialects.aurora.hints import HINTS
from segue.dialects.aurora.sessions import find, show_table
from segue.dialects.resuming import offer_recovery, resume_conversation
from segue.errors import AmbiguousIdError, NotFoundError
from segue.presets import preset_sources

if TYPE_CHECKING:
    from pathlib import Path

    from segue.chat.conversation import Conversation
    from segue.dialects.aurora.config import AuroraConfig
    from segue.dialects.aurora.paths import AuroraPaths
    from segue.library import Library

NOT_THERE = Exit.DECLINED
"""How `--resume` ends when there is no such session: with 1, as Aurora's scripts expect."""


class AuroraChat:
    """All that a conversation needs, found in the places that Aurora has."""

    def __init__(self, library: Library, places: AuroraPaths, settings: AuroraConfig) -> None:
        self._library = library
        self._places = places
        self._settings = settings
        surface = open_surface(history=places.history)
        self._terminal = surface.terminal
        self._resolver = AgentResolver(
            surface,
            sources=preset_sources("aurora", user=places.agents, home=surface.home, cwd=surface.cwd, shipped=None),
            settings=ChatSettings(max_tokens=settings.max_tokens),
        )

    def begin(self, agent: str, id: str | None) -> int:
        resolved = self._resolver.choose(agent)
        return self._hold(start(self._library, self._resolver, resolved, id=id))

    def come_back(self, id: str, agent: str) -> int:
        try:
            name = find(self._library, id)
        except AmbiguousIdError:
            raise
        except NotFoundError as error:
            return self._show_what_is_there(error)
        damages = self._library.verify(name).damages
        if damages:
            left = offer_recovery(self._library, name, damages, self._terminal, again=f"aur spawn --resume {name}")
            if left is not None:
                return left
        return self._hold(resume_conversation(self._library, self._resolver, name, self._terminal, agent=agent))

    def _show_what_is_there(self, error: NotFoundError) -> int:
        heads = self._library.list()
        output.error(str(error), error.hint)
        if heads:
            show_table(heads)
        else:
            output.warn("no sessions found; aur spawn -i begins one")
        return NOT_THERE

    def _hold(self, conversation: Conversation) -> int:
        """Until somebody leaves. What has expired is cleaned meanwhile; this session is in use, and so it stays."""
        with Expiry(self._library.store.url, self._settings.session_expiry_days):
            return run(self._library, conversation, self._resolver, dialect=dialect_of(self._places.sessions))


def dialect_of(sessions: Path) -> Dialect:
    folder = str(sessions).replace("{", "{{").replace("}", "}}")
    return Dialect(
        name="aur",
        prompt="@{agent}> ",
        resume=HINTS.resume,
        hint_for=HINTS.hint_for,
        farewell=f"Session saved: {folder}/{{id}}.jsonl\nCome back with: {{resume}}",
        exit_status="completed",
        idle_seconds=0,
        keeps_blank=True,
    )
