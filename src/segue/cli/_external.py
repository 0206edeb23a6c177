"""Sessions of AI tools where a verb takes an id: read in place, or imported before they are continued elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from segue.cli._sources import is_store_named
from segue.console import output
from segue.errors import AmbiguousIdError, InvalidIdError, NotFoundError

if TYPE_CHECKING:
    from segue.errors import Damage
    from segue.integrations import Integration
    from segue.integrations.shared.history import ExternalSession
    from segue.library import Library
    from segue.store import Store
    from segue.transfer.import_sessions import Imported
    from segue.trust import Trust

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""As the current time, it makes every answer complete: what there is of it is imported."""


class ExternalMatch(NamedTuple):
    integration: Integration
    session: ExternalSession

    @property
    def tool(self) -> str:
        return self.integration.name

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def folder(self) -> str:
        """The folder of the conversation; empty if it is not known."""
        builder, turns = self.integration.read(self.session)
        next(turns, None)
        turns.close()
        return builder.cwd


class ReadableSession(NamedTuple):
    library: Library
    id: str
    damages: tuple[Damage, ...] = ()
    """Those in the files of an AI tool; a store reports its own."""


def find_external_match(id: str, *, shortest: int = 1) -> ExternalMatch | None:
    """The session with this id, or the only one whose id starts with it; None if there is none, or a store is named.

    A prefix has at least `shortest` characters. AmbiguousIdError if several ids start with it.
    """
    if is_store_named():
        return None
    from segue.integrations.registry import with_history

    found: dict[str, ExternalMatch] = {}
    for integration in with_history().values():
        with suppress(Exception):  # `segue list` reports which tools cannot be read
            for session in integration.sessions(Path.home(), os.environ):
                if session.id.startswith(id):
                    found.setdefault(session.id, ExternalMatch(integration, session))
    if id in found or not found or len(id) < shortest:
        return found.get(id)
    if len(found) > 1:
        raise AmbiguousIdError(id, sorted(found))
    return next(iter(found.values()))


def find_readable(library: Library, id: str) -> ReadableSession:
    """The session of the store, or else one of an AI tool, which is copied into memory."""
    try:
        return ReadableSession(library, library.resolve(id))
    except AmbiguousIdError:
        raise
    except (InvalidIdError, NotFoundError):
        match = find_external_match(id)
        if match is None:
            raise
    from segue.library import open as open_url

    memory = open_url("memory:")
    imported = _import(match, memory.store)
    return ReadableSession(memory, imported.session_id, imported.damages)


def import_match(library: Library, match: ExternalMatch) -> str:
    """Import it into the store, or what is new of it, and report that; returns its id there."""
    from segue.console.paths import machine_trust
    from segue.transfer.originals import Originals

    trust = machine_trust()
    if original := Originals(trust.links, match.integration, library.store).find(match.session):
        output.warn(f"{match.tool} session {match.id} is a copy of session {original}")
        return original
    imported = _import(match, library.store, trust=trust)
    warn_damages(imported.damages)
    count = f"{imported.turns:,} turn{'' if imported.turns == 1 else 's'}" if imported.turns else "nothing new"
    output.warn(f"imported from {match.tool} as {imported.session_id}: {count}")
    return imported.session_id


def warn_damages(damages: tuple[Damage, ...]) -> None:
    for damage in damages:
        output.warn(f"{damage}")


def _import(match: ExternalMatch, store: Store, *, trust: Trust | None = None) -> Imported:
    from segue.transfer.import_sessions import import_session

    imported = import_session(match.integration, match.session, store, clock=lambda: _END_OF_TIME, trust=trust)
    if not imported.session_id:
        warn_damages(imported.damages)
        raise NotFoundError(f"{match.tool} session {match.id} contains nothing readable")
    return imported
