"""The trash: deleted sessions that can be restored; and what `delete` and `clean` print about them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from segue.console import options, output
from segue.console.durations import parse_age
from segue.console.exit_codes import Exit
from segue.console.group import Group
from segue.errors import NotFoundError, SegueError
from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.library import Library
    from segue.model import Head
    from segue.store import Trashed

TRASH_DAYS = 30
"""Days after which `segue clean` deletes a session in the trash for good."""
_SHOWN = 20
_LONGEST_TITLE = 50
_KILO = 1024


@options.verb("segue trash list", "segue trash list --json", name="list")
@options.library
@options.as_json
def list_(*, library: Library, as_json: bool) -> None:
    """List the sessions in the trash, last deleted first."""
    from segue.console.durations import time_formatter
    from segue.formats.transcript import iso, to_json_object

    entries = library.trashed()
    if as_json:
        output.data(
            [
                {
                    "key": entry.key,
                    "deleted_at": iso(entry.deleted_at),
                    "size_bytes": entry.size_bytes,
                    "session": to_json_object(entry.head),
                }
                for entry in entries
            ]
        )
        return
    if not entries:
        output.warn(f"the trash of {library.store.url} is empty")
        return
    when = time_formatter()
    rows = [
        [
            entry.head.id,
            entry.head.title,
            str(entry.head.turn_count),
            when(entry.head.updated_at),
            when(entry.deleted_at),
            size([entry]),
        ]
        for entry in entries
    ]
    output.table(("ID", "TITLE", "TURNS", "ACTIVE", "DELETED", "SIZE"), rows, stretch=1)
    output.note(f"{count(entries)}, {size(entries)}; to restore one: segue trash restore ID")


@options.verb("segue trash restore qa-2026", name="restore")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, type=options.text)
@options.library
@options.as_json
def restore(*, library: Library, ids: tuple[str, ...], as_json: bool) -> None:
    """Restore sessions from the trash.

    If several had the same ID, the last deleted one is restored; the keys that segue trash list --json prints restore
    the others.
    """
    restored = []
    try:
        for id in ids:
            restored.append(name := library.restore(id))
            if not as_json:
                output.line(f"restored {name}")
    finally:
        if as_json:
            output.data({"restored": restored})


@options.verb("segue trash empty", "segue trash empty --older-than 1w --yes", name="empty")
@click.option("--older-than", metavar="AGE", default="", help="Minimum age since the deletion: 12h, 30d, 2w, 6mo, 1y.")
@options.yes
@options.library
@options.as_json
def empty(*, library: Library, older_than: str, yes: bool, as_json: bool) -> int | None:
    """Delete the sessions in the trash for good."""
    entries = _older_than(library, parse_age(older_than)) if older_than else library.trashed()
    if entries:
        if not yes and output.stdin_is_tty():
            show(f"{count(entries)}, {size(entries)}:", [entry.head for entry in entries])
        if not output.confirm(f"Delete {count(entries)} in the trash for good?", yes=yes):
            output.warn("nothing was deleted")
            return Exit.DECLINED
        erase(library, entries)
    library.store.sweep()
    if as_json:
        output.data({"erased": [entry.key for entry in entries]})
    else:
        output.line(f"deleted {count(entries)} for good, {size(entries)}")
    return None


command = Group("trash", [list_, restore, empty], help="List, restore and permanently delete trashed sessions.")


def expired(library: Library) -> tuple[Trashed, ...]:
    return _older_than(library, timedelta(days=TRASH_DAYS))


def _older_than(library: Library, age: timedelta) -> tuple[Trashed, ...]:
    limit = datetime.now(UTC) - age
    return tuple(entry for entry in library.trashed() if entry.deleted_at <= limit)


def erase(library: Library, entries: Sequence[Trashed]) -> None:
    """Delete all entries for good; an error stops none of the others and is raised at the end."""
    failure: SegueError | None = None
    for entry in entries:
        try:
            library.erase(entry)
        except NotFoundError:
            continue  # another process has restored or erased it
        except SegueError as error:
            failure = error
    if failure is not None:
        raise failure


def show(title: str, heads: Sequence[Head]) -> None:
    """List the sessions that the next question is about on stderr."""
    if not heads:
        return
    lines = [title, *(f"  {line_of(head)}" for head in heads[:_SHOWN])]
    if len(heads) > _SHOWN:
        lines.append(f"  and {len(heads) - _SHOWN} more")
    output.write_stderr("\n".join(lines))


def count(things: Sequence[object]) -> str:
    return f"{len(things)} session{'' if len(things) == 1 else 's'}"


def size(entries: Sequence[Trashed]) -> str:
    """Their total size, e.g. 1.2 MB."""
    return format_size(sum(entry.size_bytes for entry in entries))


def format_size(size_bytes: int) -> str:
    found = float(size_bytes)
    for unit in ("B", "KB", "MB", "GB"):
        if found < _KILO or unit == "GB":
            break
        found /= _KILO
    return f"{found:.0f} {unit}" if unit == "B" else f"{found:.1f} {unit}"


def line_of(head: Head) -> str:
    """A session on one line, for a decision about it."""
    title = one_line(head.title)
    title = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
    turns = f"{head.turn_count} turn{'' if head.turn_count == 1 else 's'}"
    facts = [title, f"last active {head.updated_at.astimezone():%Y-%m-%d %H:%M}", turns]
    return one_line(f"{head.id}  {' · '.join(fact for fact in facts if fact)}")
