from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._lookup import FoundSession, find_session
from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import NotFoundError, SegueError, UsageError
from segue.ids import is_id

if TYPE_CHECKING:
    from segue.cli._lookup import Words
    from segue.library import Library
    from segue.store import Trashed


@options.verb(
    "segue delete qa-2026", "segue delete @2 @3", "segue delete k3f2 --yes", "segue delete qa-2026 --for-good"
)
@options.session_argument("ids", metavar="ID...")
@click.option("--for-good", is_flag=True, help="Delete permanently, also from the trash.")
@options.yes
@options.library
@options.as_json
def command(*, library: Library, ids: tuple[str, ...], for_good: bool, yes: bool, as_json: bool) -> int | None:
    """Move sessions to the trash, after confirmation.

    To restore one: segue trash restore ID. With --for-good nothing is left: no copies next to it, no index entries, no
    input history. A session in use is never deleted. With --yes every ID must be an id, its beginning or its end.
    """
    library, names = _find_all(
        library, ids, for_good=for_good, words="use" if output.stdin_is_tty() and not yes else "never"
    )
    has_trash = library.store.trash is not None
    if not has_trash and yes and not for_good:
        raise UsageError(f"{library.store.url} has no trash; nothing was deleted", hint="use --for-good")
    shown = [f"{id} ({title})" if title else id for id, title in names.items()]
    what = shown[0] if len(names) == 1 else f"these {len(names)} sessions:\n  " + "\n  ".join(shown) + "\n"
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
        output.note(f"to restore: segue trash restore {next(iter(names)) if len(names) == 1 else 'ID'}")
    return None


def _find_all(
    library: Library, texts: tuple[str, ...], *, for_good: bool, words: Words
) -> tuple[Library, dict[str, str]]:
    """The sessions by id, each with its title, and their library; all must be in one store."""
    found = [_find(library, text, for_good=for_good, words=words) for text in texts]
    if len({one.library.store.url for one in found}) > 1:
        raise UsageError("these sessions are in several stores; nothing was deleted", hint="delete them store by store")
    owner = found[0].library
    return owner, {one.id: _title(owner, one.id) for one in found}


def _find(library: Library, text: str, *, for_good: bool, words: Words) -> FoundSession:
    """A session, or with `for_good` also one that is in the trash or was half deleted by a crash."""
    try:
        found = find_session(library, text, words=words)
    except NotFoundError:
        if for_good and is_id(text) and (_in_trash(library, text) or library.has_remains(text)):
            return FoundSession(library, text)
        raise
    if found.external is not None:
        tool = found.external.tool
        raise UsageError(f"{found.id} is a session of {tool}; nothing was deleted", hint=f"delete it in {tool}")
    return found


def _title(library: Library, id: str) -> str:
    try:
        return library.store.head(id).title
    except SegueError:  # damaged, or only its remains are left
        return ""


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
