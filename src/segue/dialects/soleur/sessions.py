"""Lists the saved sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.summary import shortened
from segue.clock import local
from segue.console import output
from segue.console.columns import fit
from segue.errors import SegueError
from segue.formats.transcript import iso
from segue.ids import short_ids
from segue.library import Library
from segue.stores.isolation import isolate_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.console.output import Span
    from segue.dialects.soleur.paths import SoleurPaths
    from segue.dialects.soleur.store import SoleurStore
    from segue.model import Head

COLUMNS = ("id", "created", "last message")
NO_SESSIONS = "No saved sessions found"

_PREVIEW = 60
_LAST_MESSAGE = 2
_UNLIMITED = 1 << 20


def open_store(paths: SoleurPaths) -> SoleurStore:
    from segue.dialects.soleur.store import SoleurStore

    return isolate_sessions(SoleurStore(str(paths.sessions)))


def show_list(paths: SoleurPaths, *, as_json: bool) -> None:
    """Print the sessions, the last active first."""
    store = open_store(paths)
    with Library(store) as library:
        heads = library.list()
        if as_json:
            output.data([_head_json(store, head) for head in heads])
        elif heads:
            _show_table(store, heads)
        else:
            output.line(NO_SESSIONS)


def preview(store: SoleurStore, head: Head) -> str:
    """The beginning of the last message."""
    if head.damage:
        return f"(damaged: {head.damage})"
    if not head.turn_count:
        return "(no messages)"
    try:
        return shortened(store.last_message(head.id), _PREVIEW)
    except SegueError as error:  # damaged, or deleted meanwhile
        return f"({error})"


def _show_table(store: SoleurStore, heads: Sequence[Head]) -> None:
    """Print short ids at a terminal, complete ids in a pipe."""
    if output.stdout_is_tty():
        ids = short_ids([head.id for head in heads])
        rows: list[list[Span]] = [
            [ids[head.id], f"{local(head.created_at):%Y-%m-%d %H:%M}", preview(store, head)] for head in heads
        ]
        width = output.terminal_width()
    else:
        rows = [[head.id, iso(head.created_at), preview(store, head)] for head in heads]
        width = _UNLIMITED
    output.lines(fit(COLUMNS, rows, stretch=_LAST_MESSAGE, optional=(), width=width))


def _head_json(store: SoleurStore, head: Head) -> dict[str, object]:
    return {
        "id": head.id,
        "created_at": iso(head.created_at),
        "updated_at": iso(head.updated_at),
        "last_message": preview(store, head),
        "agent_type": head.agent,
        "status": "damaged" if head.damage else head.status,
        "message_count": head.turn_count,
        "damage": head.damage,
    }
