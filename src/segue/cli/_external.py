"""Sessions of AI tools where a verb takes an id: read in place, or imported before they are continued elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from segue.cli._sources import is_store_named
from segue.console import output
from segue.errors import AmbiguousIdError, NotFoundError, SessionNotFoundError
from segue.ids import match_ids

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
        builder, turns = self.integration.preview(self.session)
        next(turns, None)
        turns.close()
        return builder.cwd


class ReadableSession(NamedTuple):
    library: Library
    id: str
    damages: tuple[Damage, ...] = ()
    """Those in the files of an AI tool; a store reports its own."""
    external: ExternalMatch | None = None
    """The session of an AI tool that is read in place."""

    def refresh(self) -> None:
        """Continue with what the AI tool has added since."""
        from segue.transfer.in_place import InPlaceStore

        if self.external is not None and isinstance(store := self.library.store, InPlaceStore):
            store.update(get_external(self.external.tool, self.external.id).session)


def find_external_match(id: str, *, shortest: int = 1) -> ExternalMatch | None:
    """The session with this id, or with this beginning or end of it; None if there is none, or a store is named.

    A part has at least `shortest` characters. AmbiguousIdError if several ids match.
    """
    if is_store_named():
        return None
    from segue.integrations.registry import with_history

    known: dict[str, ExternalMatch] = {}
    for integration in with_history().values():
        with suppress(Exception):  # `segue list` reports which tools cannot be read
            for session in integration.sessions(Path.home(), os.environ):
                known.setdefault(session.id, ExternalMatch(integration, session))
    ids = match_ids(id, known)
    if not ids or (ids != [id] and len(id) < shortest):
        return None
    if len(ids) > 1:
        raise AmbiguousIdError(id, ids)
    return known[ids[0]]


def get_external(tool: str, id: str) -> ExternalMatch:
    """The session of this tool with exactly this id."""
    from segue.integrations.registry import INTEGRATIONS

    for session in INTEGRATIONS[tool].sessions(Path.home(), os.environ) if tool in INTEGRATIONS else ():
        if session.id == id:
            return ExternalMatch(INTEGRATIONS[tool], session)
    raise SessionNotFoundError(id, tool)


def read_in_place(match: ExternalMatch) -> ReadableSession:
    """The session, which was read once, so that its damages are known. NotFoundError if it has no turns."""
    from segue.transfer.in_place import InPlaceLibrary, InPlaceStore, NothingReadableError

    store = InPlaceStore(match.integration, match.session)
    try:
        damages = store.damages
    except NothingReadableError as error:
        raise _nothing_readable(match, error.damages) from None
    warn_damages(store.limits)
    return ReadableSession(InPlaceLibrary(store), store.id, damages, match)


def is_imported(library: Library, match: ExternalMatch) -> bool:
    """Whether the store has a copy of it."""
    from segue.transfer.imported_copy import imported_session_id

    try:
        library.store.revision(imported_session_id(match.tool, match.id))
    except NotFoundError:
        return False
    return True


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
    from segue.transfer.import_position import ImportPositions
    from segue.transfer.import_sessions import import_session
    from segue.user_folders import cache_folder

    imported = import_session(
        match.integration,
        match.session,
        store,
        clock=lambda: _END_OF_TIME,
        trust=trust,
        positions=ImportPositions(cache_folder()),
    )
    if not imported.session_id:
        raise _nothing_readable(match, imported.damages)
    return imported


def _nothing_readable(match: ExternalMatch, damages: tuple[Damage, ...]) -> NotFoundError:
    warn_damages(damages)
    return NotFoundError(f"{match.tool} session {match.id} contains nothing readable")
