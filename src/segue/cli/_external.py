"""Sessions that AI tools keep, where a verb takes an id: read in place, or copied before they go on elsewhere."""

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
    from segue.integrations.histories import ExternalSession, History
    from segue.library import Library
    from segue.store import Store
    from segue.transfer.import_sessions import Imported

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""Nothing is being written by then: what there is of an answer is taken as it is."""


class ExternalMatch(NamedTuple):
    history: History
    kept: ExternalSession

    @property
    def tool(self) -> str:
        return self.history.name

    @property
    def id(self) -> str:
        return self.kept.id

    @property
    def folder(self) -> str:
        """Where it was held; empty where that is not known."""
        about, steps = self.history.read(self.kept)
        next(steps, None)
        steps.close()
        return about.cwd


class Readable(NamedTuple):
    library: Library
    id: str
    damages: tuple[Damage, ...] = ()
    """Of a tool's own files; a store names its own when it is asked."""


def find_external_match(id: str, *, shortest: int = 1) -> ExternalMatch | None:
    """The one with this id, or the one that begins so; None if there is none, or if the call names a store.

    A beginning has at least so many characters. AmbiguousIdError if several begin so.
    """
    if is_store_named():
        return None
    from segue.integrations.histories import HISTORIES

    found: dict[str, ExternalMatch] = {}
    for history in HISTORIES.values():
        with suppress(Exception):  # a listing says of which tool nothing can be read
            for kept in history.kept(Path.home(), os.environ):
                if kept.id.startswith(id):
                    found.setdefault(kept.id, ExternalMatch(history, kept))
    if id in found or not found or len(id) < shortest:
        return found.get(id)
    if len(found) > 1:
        raise AmbiguousIdError(id, sorted(found))
    return next(iter(found.values()))


def readable(library: Library, id: str) -> Readable:
    """The session of the store; or else one that a tool keeps, in memory for as long as the call takes."""
    try:
        return Readable(library, library.resolve(id))
    except AmbiguousIdError:
        raise
    except (InvalidIdError, NotFoundError):
        found = find_external_match(id)
        if found is None:
            raise
    from segue.library import open as open_url

    place = open_url("memory:")
    copied = _copied(found, place.store)
    return Readable(place, copied.session_id, copied.damages)


def bring_in(library: Library, found: ExternalMatch) -> str:
    """Copy it into the store, or what is new of it, and say so; its id there."""
    copied = _copied(found, library.store)
    tell_damages(copied.damages)
    count = f"{copied.turns:,} turn{'' if copied.turns == 1 else 's'}" if copied.turns else "nothing new"
    output.warn(f"copied from {found.tool} as {copied.session_id}: {count}")
    return copied.session_id


def tell_damages(damages: tuple[Damage, ...]) -> None:
    for damage in damages:
        output.warn(f"{damage}")


def _copied(found: ExternalMatch, store: Store) -> Imported:
    from segue.transfer.import_sessions import import_session

    copied = import_session(found.history, found.kept, store, clock=lambda: _END_OF_TIME)
    if not copied.session_id:
        tell_damages(copied.damages)
        raise NotFoundError(f"{found.tool} session {found.id} has nothing to read in it")
    return copied
