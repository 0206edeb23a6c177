"""`segue export --all`: one file per session, named after its id. Repeating it writes only what has changed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from segue.cli.export import rendered
from segue.console import exit_codes, output
from segue.console.error_messages import SEGUE_HINTS
from segue.durable.folder import Folder
from segue.durable.kernel import storage_error
from segue.errors import ConflictError, NotFoundError, SegueError
from segue.transfer.import_files import is_contained

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.library import Library

_ENDINGS = {"markdown": ".md", "json": ".json", "jsonl": ".jsonl"}


def export_all(library: Library, path: str, format: str, *, force: bool) -> int:
    """Write all sessions of the store into a folder; one that cannot be exported affects only itself."""
    folder = Folder(os.path.realpath(path))
    folder.make()
    ids = sorted(library.store.ids())
    code, written = exit_codes.Exit.DONE, 0
    for number, id in enumerate(ids, start=1):
        output.progress("" if number == len(ids) else f"{number:,} of {len(ids):,} sessions")
        try:
            written += _export(library, id, folder, format, force=force)
        except NotFoundError:
            continue  # deleted since it was listed
        except SegueError as error:
            output.progress("")
            output.warn(f"session {id}: {SEGUE_HINTS.describe(error)}")
            code = exit_codes.exit_code_of(error)
    others = "" if code else f", {len(ids) - written:,} have not changed"
    output.line(f"wrote {written:,} of {len(ids):,} sessions to {path}{others}")
    return code


def _export(library: Library, id: str, folder: Folder, format: str, *, force: bool) -> bool:
    """Write the file of a session; returns whether it is new or has changed."""
    name = f"{id}{_ENDINGS[format]}"

    def chunks() -> Iterable[bytes]:
        content = rendered(library.stream(id), library.store, format)
        return (chunk.encode("utf-8", "backslashreplace") for chunk in content)

    try:
        before = folder.read(name)
    except FileNotFoundError:
        before = None
    if before is not None:
        if _unnumbered(before) == _unnumbered(b"".join(chunks())):
            return False
        if not force and not is_contained(before, library.store, id):
            raise ConflictError(
                f"{folder.path_of(name)} has turns that are not in the store, or is another file",
                hint="import it first, or use --force to overwrite it",
            )
    try:
        if before is None:
            folder.create(name, chunks())
        else:
            folder.replace(name, chunks())
    except FileExistsError:
        raise ConflictError(f"{folder.path_of(name)} was created by another process", hint="try again") from None
    except OSError as error:
        raise storage_error(error, folder.path_of(name), "write") from None
    return True


def _unnumbered(data: bytes) -> bytes:
    """Without the numbers of events, in which only a session and its imported copy differ."""
    return re.sub(rb'"seq": \d+', b"", data)
