"""A conversation as `aur spawn` holds it: begun, or come back to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.chat.agents.resolver import AgentResolver, preset_folders
from segue.chat.agents.resolver import ChatSettings as CompanySettings
from segue.chat.dialect import Dialect
from segue.chat.drafts import Drafts
from segue.chat.start import run, start
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.paths import trust_folder
from segue.dialects.aurora.expiry import Expiry
from segue.dialects.aurora.hints import HINTS
from segue.dialects.aurora.sessions import find, show_table
from segue.dialects.resuming import here, offer_recovery, resume_conversation
from segue.errors import AmbiguousIdError, NotFoundError
from segue.tools.approval import trust_prompt
from segue.trust import Trust

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
        self._cwd = here()
        self._terminal = output.conversation(places.history)
        self._resolver = AgentResolver(
            environ=os.environ,
            folders=[*places.agents, *preset_folders(self._cwd, places.project_agents)],
            trusted=places.agents,
            settings=CompanySettings(max_tokens=settings.max_tokens),
            confirm=trust_prompt(self._terminal),
            trust=Trust(trust_folder()),
            notify=self._terminal.note,
            drafts=Drafts(places.history.parent / "drafts"),
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
            return run(
                self._library,
                conversation,
                self._resolver,
                dialect=dialect_of(self._places.sessions),
                terminal=self._terminal,
                cwd=self._cwd,
                home=self._places.home,
            )


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
