"""Importing sessions of AI tools into a store: all of it the first time, later what is new."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.clock import utc_now
from segue.errors import (
    Damage,
    SegueError,
    StorageError,
    unforeseen,
)
from segue.transfer.imported_copy import ImportedCopy, imported_session_id
from segue.transfer.originals import Originals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.integrations.shared.history import ExternalSession
    from segue.integrations.shared.integration import Integration
    from segue.model import Overview
    from segue.store import Store
    from segue.transfer.import_position import ImportPositions
    from segue.trust import Trust

QUIET_SECONDS = 5.0
"""An answer is complete if nothing was added to it for this long."""


class Imported(Struct, frozen=True, kw_only=True):
    """The result of importing a session."""

    tool: str
    native_id: str
    session_id: str
    """The id in the store; empty if there was nothing to import."""
    title: str = ""
    is_new: bool = False
    turns: int = 0
    """How many turns are new."""
    is_growing: bool = False
    """Whether an answer was left for the next import, because the tool is still writing it."""
    is_ours: bool = False
    """Whether it has only what Segue wrote there, and was not imported for that reason."""
    damages: tuple[Damage, ...] = ()


def import_session(
    integration: Integration,
    external: ExternalSession,
    store: Store,
    *,
    clock: Callable[[], datetime] = utc_now,
    trust: Trust | None = None,
    skips_ours: bool = False,
    positions: ImportPositions | None = None,
) -> Imported:
    """Copy what is new in a session. The files of the tool do not change, and neither does what was copied before.

    If the tool has changed a turn, the change becomes a branch. `trust` records that both are one conversation. With
    `positions`, a session that has not changed since its last import is not read; with `skips_ours`, one that has only
    what Segue wrote there is not imported.

    NotFoundError if the session is gone, SegueError as raised by the store; what was copied by then stays, and the next
    import continues from there.
    """
    current = _find_current(integration, external, store, positions) if positions is not None else None
    if current is not None:
        _link(trust, store, integration.name, external.id, current)
        return Imported(tool=integration.name, native_id=external.id, session_id=current.id, title=current.title)
    builder, turns = integration.read(external)
    held: list[TranscriptTurn] = []
    ours: list[TranscriptTurn] = []
    is_growing = clock().timestamp() - external.changed_at < QUIET_SECONDS
    try:
        with closing(turns), ImportedCopy(store, builder, external.id) as copy:
            entries = _with_words_of_tool(turns, ours) if skips_ours else turns
            for entry in _complete(entries, held) if is_growing else entries:
                copy.add(entry)
            copy.finish()
    except SegueError:
        raise
    except Exception as error:
        raise StorageError(str(unforeseen(error, external.path)), path=external.path) from error
    if copy.overview is not None:
        _link(trust, store, integration.name, external.id, copy.overview)
        if positions is not None and not held and not builder.damages:
            positions.record(external, store, copy.overview)
    return Imported(
        tool=integration.name,
        native_id=external.id,
        session_id=copy.session_id if copy.exists else "",
        title=copy.title,
        is_new=copy.is_new,
        turns=copy.turns,
        is_growing=bool(held),
        is_ours=bool(ours),
        damages=(*builder.damages, *builder.limits),
    )


def _with_words_of_tool(entries: Iterable[TranscriptTurn], ours: list[TranscriptTurn]) -> Iterator[TranscriptTurn]:
    """All turns if the tool added one to those that Segue wrote, which are held until then; else none."""
    iterator = iter(entries)
    for entry in iterator:
        if not entry.is_ours:
            yield from ours
            ours.clear()
            yield entry
            yield from iterator
            return
        ours.append(entry)


def _find_current(
    integration: Integration, external: ExternalSession, store: Store, positions: ImportPositions
) -> Overview | None:
    """The copy that has all of the session; None if the session must be read."""
    try:
        copy = store.overview(imported_session_id(integration.name, external.id))
    except SegueError:
        return None
    is_copy = copy.extra.get("origin") == external.id
    return copy if is_copy and positions.is_current(external, store, copy) else None


def _link(trust: Trust | None, store: Store, tool: str, native_id: str, copy: Overview) -> None:
    """Record that both are one conversation."""
    if trust is not None:
        with suppress(StorageError):  # then both are listed
            trust.of(store.url, copy.id).link(tool, native_id, copy.created_at, "import")


def _complete(entries: Iterable[TranscriptTurn], held: list[TranscriptTurn]) -> Iterator[TranscriptTurn]:
    """All turns except the last answer and what belongs to it, which are held."""
    for entry in entries:
        if entry.turn.role in {"assistant", "user"}:
            yield from held
            held.clear()
        if held or entry.turn.role == "assistant":
            held.append(entry)
        else:
            yield entry


class FailedImport(Struct, frozen=True, kw_only=True):
    """A session that could not be imported."""

    tool: str
    native_id: str
    """Empty if the sessions of the tool could not be listed at all."""
    error: SegueError
    is_store_lost: bool = False
    """Whether the store itself does not answer: then nothing else is tried."""


class ImportWatch:
    """Imports what AI tools write, again and again. Sessions that they delete meanwhile stay in the store.

    With `trust`, copies of our own sessions are not imported.
    """

    def __init__(
        self,
        integrations: Iterable[Integration],
        store: Store,
        *,
        home: Path,
        environ: Mapping[str, str],
        clock: Callable[[], datetime] = utc_now,
        trust: Trust | None = None,
        positions: ImportPositions | None = None,
    ) -> None:
        self._trust = trust
        self._positions = positions
        self._integrations = tuple(integrations)
        self._store = store
        self._home = home
        self._environ = environ
        self._clock = clock
        self._known: dict[tuple[str, str], str] = {}

    def poll(self) -> Iterator[Imported | FailedImport]:
        """Import every session that has changed since the last poll, or was not complete then.

        It ends early if the store does not answer; the next poll begins there.
        """
        for integration in self._integrations:
            try:
                originals = Originals(self._trust.links, integration, self._store) if self._trust is not None else None
                for external in integration.sessions(self._home, self._environ):
                    if self._known.get((integration.name, external.id)) == external.revision:
                        continue
                    if originals is not None and originals.is_copy(external):
                        self._known[integration.name, external.id] = external.revision
                        continue
                    found = self._import(integration, external)
                    if isinstance(found, FailedImport) or not found.is_ours:
                        yield found
                    if isinstance(found, FailedImport) and found.is_store_lost:
                        return
            except SegueError as error:
                yield FailedImport(tool=integration.name, native_id="", error=error)

    def _import(self, integration: Integration, external: ExternalSession) -> Imported | FailedImport:
        try:
            found = import_session(
                integration,
                external,
                self._store,
                clock=self._clock,
                trust=self._trust,
                skips_ours=True,
                positions=self._positions,
            )
        except SegueError as error:
            is_lost = isinstance(error, StorageError) and error.path == self._store.url
            return FailedImport(tool=integration.name, native_id=external.id, error=error, is_store_lost=is_lost)
        if not found.is_growing:
            self._known[integration.name, external.id] = external.revision
        return found
