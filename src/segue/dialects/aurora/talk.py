"""A conversation as `aur spawn` holds it: begun, or come back to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.chat.company import Company, preset_folders
from segue.chat.company import Settings as CompanySettings
from segue.chat.consent import trusting
from segue.chat.dialect import Dialect
from segue.chat.drafts import Drafts
from segue.chat.start import begin, hold
from segue.console import output
from segue.console.exits import Exit
from segue.console.places import trust_folder
from segue.dialects.aurora.expiry import Expiry
from segue.dialects.aurora.sessions import find, show_table
from segue.dialects.door import here, mend, return_to
from segue.errors import AmbiguousIdError, NotFoundError
from segue.trust import Trust

if TYPE_CHECKING:
    from pathlib import Path

    from segue.chat.engine import Conversation
    from segue.dialects.aurora.places import Places
    from segue.dialects.aurora.settings import Settings
    from segue.library import Library

NOT_THERE = Exit.DECLINED
"""How `--resume` ends when there is no such session: with 1, as Aurora's scripts expect."""


class Talk:
    """All that a conversation needs, found in the places that Aurora has."""

    def __init__(self, library: Library, places: Places, settings: Settings) -> None:
        self._library = library
        self._places = places
        self._settings = settings
        self._cwd = here()
        self._terminal = output.conversation(places.history)
        self._company = Company(
            environ=os.environ,
            folders=[*places.agents, *preset_folders(self._cwd, places.project_agents)],
            trusted=places.agents,
            settings=CompanySettings(max_tokens=settings.max_tokens),
            confirm=trusting(self._terminal),
            trust=Trust(trust_folder()),
            tell=self._terminal.note,
            drafts=Drafts(places.history.parent / "drafts"),
        )

    def begin(self, agent: str, id: str | None) -> int:
        cast = self._company.choose(agent)
        return self._hold(begin(self._library, self._company, cast, id=id))

    def come_back(self, id: str, agent: str) -> int:
        try:
            name = find(self._library, id)
        except AmbiguousIdError:
            raise
        except NotFoundError as error:
            return self._show_what_is_there(error)
        damages = self._library.verify(name).damages
        if damages:
            left = mend(self._library, name, damages, self._terminal, again=f"aur spawn --resume {name}")
            if left is not None:
                return left
        return self._hold(return_to(self._library, self._company, name, self._terminal, agent=agent))

    def _show_what_is_there(self, error: NotFoundError) -> int:
        heads = self._library.list()
        output.error(str(error), error.hint if error.near else "")
        if heads:
            show_table(heads)
        else:
            output.warn("no sessions found; aur spawn -i begins one")
        return NOT_THERE

    def _hold(self, conversation: Conversation) -> int:
        """Until somebody leaves. What has expired is cleaned meanwhile; this session is in use, and so it stays."""
        with Expiry(self._library.store.url, self._settings.session_expiry_days):
            return hold(
                self._library,
                conversation,
                self._company,
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
        resume="aur spawn --resume {id}",
        farewell=f"Session saved: {folder}/{{id}}.jsonl\nCome back with: {{resume}}",
        exit_status="completed",
        idle_seconds=0,
        keeps_blank=True,
    )
