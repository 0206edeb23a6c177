from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from segue.library import Library
    from segue.store import Trashed


@options.verb("segue delete qa-2026", "segue delete one two --yes", "segue delete qa-2026 --for-good")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, type=options.text, shell_complete=options.complete_ids)
@click.option("--for-good", is_flag=True, help="Delete permanently, also from the trash.")
@options.yes
@options.library
@options.as_json
def command(*, library: Library, ids: tuple[str, ...], for_good: bool, yes: bool, as_json: bool) -> int | None:
    """Move sessions to the trash, after confirmation.

    To restore one: segue trash restore ID. With --for-good nothing is left: no copies next to it, no index entries, no
    input history. A session in use is never deleted. With --yes every ID must be complete, not a prefix.
    """
    has_trash = library.store.trash is not None
    if not has_trash and yes and not for_good:
        raise UsageError(f"{library.store.url} has no trash; nothing was deleted", hint="use --for-good")
    names = list(dict.fromkeys(_resolve(library, id, for_good=for_good) for id in ids))
    if yes and (short := [id for id in ids if id not in names]):
        raise UsageError(
            f"{', '.join(short)} is only a prefix of an id; nothing was deleted",
            hint="with --yes give the complete id",
        )
    what = names[0] if len(names) == 1 else f"these {len(names)} sessions:\n  " + "\n  ".join(names) + "\n"
    question = f"Move {what} to the trash?"
    if for_good or not has_trash:
        question = f"{'' if has_trash else 'This store has no trash. '}Delete {what} for good?"
    if not output.confirm(question, yes=yes):
        output.warn("nothing was deleted")
        return Exit.DECLINED
    deleted = []
    try:
        for name in names:
            if for_good or not has_trash:
                _erase(library, name)
            else:
                library.discard(name)
            deleted.append(name)
            if not as_json:
                output.line(f"deleted {name}")
    finally:
        if as_json:
            output.data({"deleted": deleted, "trash": has_trash and not for_good})
    if has_trash and not for_good:
        output.note(f"to restore: segue trash restore {names[0] if len(names) == 1 else 'ID'}")
    return None


def _resolve(library: Library, id: str, *, for_good: bool) -> str:
    """The id of a session, or with `for_good` also of one that is in the trash or was half deleted by a crash."""
    try:
        return library.resolve(id)
    except NotFoundError:
        if for_good and (_in_trash(library, id) or library.has_remains(id)):
            return id
        raise


def _erase(library: Library, name: str) -> None:
    entries = _in_trash(library, name)
    try:
        library.delete(name)
    except NotFoundError:
        if not entries:
            raise
    for entry in entries:
        library.erase(entry)


def _in_trash(library: Library, id: str) -> list[Trashed]:
    return [entry for entry in library.trashed() if entry.head.id == id]
