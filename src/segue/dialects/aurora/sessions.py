"""Lists, deletes and cleans sessions."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from segue.clock import local
from segue.console import output
from segue.console.columns import fit
from segue.console.exit_codes import Exit
from segue.dialects.resuming import find_named
from segue.errors import AmbiguousIdError, NotFoundError, SessionNotFoundError, UsageError
from segue.formats.transcript import iso

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.console.output import Span
    from segue.library import Library
    from segue.model import Head, Status

COLUMNS = ("session_id", "agent", "turn_count", "created_at", "status")

_STYLES = {"active": "green", "completed": "dim", "interrupted": "yellow", "damaged": "red"}
_AGENT, _CREATED = 1, 3
_UNLIMITED = 1 << 20


def show_list(library: Library, *, agent: str | None, status: Status | None, as_json: bool) -> None:
    """Print the sessions, the last active first."""
    heads = library.list(agent=agent, status=status)
    if as_json:
        output.data([_head_json(head) for head in heads])
    elif heads:
        show_table(heads)
    else:
        filtered = agent is not None or status is not None
        what, hint = (
            ("no matching sessions", "list all with aur spawn --list-sessions")
            if filtered
            else ("no sessions found", "start one with aur spawn -i")
        )
        output.warn(f"{what}; {hint}")


def show_table(heads: Sequence[Head]) -> None:
    """Print the table with its header, also in a pipe, where no value is cut."""
    to_terminal = output.stdout_is_tty()
    rows = [_row(head, to_terminal=to_terminal) for head in heads]
    width = output.terminal_width() if to_terminal else _UNLIMITED
    output.lines(fit(COLUMNS, rows, stretch=_AGENT, optional=(_CREATED,), width=width))
    for head in heads:
        if head.damage:
            output.warn(f"{head.id} is damaged ({head.damage}); recover or delete it with aur spawn --resume {head.id}")


def delete(library: Library, id: str, *, yes: bool, as_json: bool) -> int | None:
    """Delete one session. At a terminal the user is asked; elsewhere the id must be complete."""
    must_ask = not yes and output.is_terminal(sys.stdin)
    name = find_session(library, id)
    if name != id and not must_ask:
        raise UsageError(f"{id} is not the complete id of {name}; nothing was deleted", hint="use the complete id")
    if must_ask and not output.confirm(f"Delete session '{name}'?", yes=False):
        output.warn("nothing was deleted")
        return Exit.DECLINED
    library.delete(name)
    if as_json:
        output.data({"deleted": [name]})
    else:
        output.line(f"Deleted session {name}")
    return None


def clean(library: Library, days: int, *, dry_run: bool, as_json: bool) -> None:
    """Permanently delete sessions without activity for this many days, and print their number."""
    cleaned = library.clean(timedelta(days=days), for_good=True, dry_run=dry_run)
    if as_json:
        skipped = [{"session_id": head.id, "reason": reason} for head, reason in cleaned.kept]
        output.data({"dry_run": dry_run, "deleted": [head.id for head in cleaned.removed], "kept": skipped})
        return
    word = "Would delete" if dry_run else "Deleted"
    for head in cleaned.removed:
        output.line(f"{word} session {head.id}")
    count = len(cleaned.removed)
    output.line(f"{word} {count} session{'' if count == 1 else 's'} older than {days} day{'' if days == 1 else 's'}")
    for head, reason in cleaned.kept:
        output.warn(f"skipped {head.id}: {reason}")


def find_session(library: Library, id: str) -> str:
    """Find the session with this id, or else with a unique part of it, or else with these words."""
    try:
        return find_named(library, id)
    except AmbiguousIdError:
        raise  # it lists the sessions that match
    except NotFoundError as error:
        message = f"Session not found: {id}"
        raise SessionNotFoundError(id, library.store.url, near=error.near, message=message) from None


def _head_json(head: Head) -> dict[str, object]:
    return {
        "session_id": head.id,
        "agent": head.agent,
        "turn_count": head.turn_count,
        "created_at": iso(head.created_at),
        "status": _status(head),
        "last_activity": iso(head.updated_at),
        "title": head.title,
        "damage": head.damage,
    }


def _row(head: Head, *, to_terminal: bool) -> list[Span]:
    status = _status(head)
    style = _STYLES.get(status, "")
    return [
        head.id,
        head.agent or "-",
        str(head.turn_count),
        _local_minute(head.created_at) if to_terminal else iso(head.created_at),
        (style, status) if style else status,
    ]


def _local_minute(moment: datetime) -> str:
    return f"{local(moment):%Y-%m-%d %H:%M}"


def _status(head: Head) -> str:
    return "damaged" if head.damage else head.status
