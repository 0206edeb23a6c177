"""`segue import` of files: exports and journals, one or a whole folder, or standard input."""

from __future__ import annotations

import difflib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segue.console import exit_codes, output
from segue.console.error_messages import SEGUE_HINTS
from segue.errors import NotFoundError, UsageError
from segue.integrations.archives.archive import is_archive
from segue.integrations.registry import with_history
from segue.transfer.import_files import (
    LIMIT_BYTES,
    SessionDivergedError,
    UnimportedFile,
    import_data,
    import_file,
    import_folder,
)

if TYPE_CHECKING:
    from segue.library import Library
    from segue.transfer.import_files import ImportedFile


_DIVERGED = "--id NAME imports it as a session of its own"


def import_path(library: Library, path: str, *, id: str, as_json: bool) -> int:
    """Import a file, a folder or standard input, and print one line per session."""
    try:
        return _import(library, path, id=id, as_json=as_json)
    except SessionDivergedError as error:
        error.hint = _DIVERGED
        raise


def _import(library: Library, path: str, *, id: str, as_json: bool) -> int:
    if path == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed")
        data = sys.stdin.buffer.read(LIMIT_BYTES + 1)
        _show(import_data(data, library.store, name="standard input", id=id), as_json=as_json)
    elif Path(path).is_dir():
        if id:
            raise UsageError("--id is for one file, and this is a folder")
        return _import_folder(library, path, as_json=as_json)
    else:
        if not Path(path).exists():
            raise _not_found(path)
        if is_archive(path):
            return _import_archive(library, path, id=id, as_json=as_json)
        _show(import_file(path, library.store, id=id), as_json=as_json)
    return exit_codes.Exit.DONE


def _import_archive(library: Library, path: str, *, id: str, as_json: bool) -> int:
    from segue.cli.import_ import show
    from segue.transfer.import_archives import import_archive
    from segue.transfer.import_sessions import FailedImport

    if id:
        raise UsageError("--id is for one session, and this is an archive of many")
    code, imported, known, empty = exit_codes.Exit.DONE, 0, 0, 0
    for number, found in enumerate(import_archive(path, library.store), start=1):
        output.progress(f"{number:,} conversations")
        if isinstance(found, FailedImport) or found.turns or found.damages:
            output.progress("")
            code = show(found, as_json=as_json) or code
        if not isinstance(found, FailedImport):
            imported += bool(found.turns)
            known += bool(found.session_id and not found.turns)
            empty += not found.session_id
    output.progress("")
    if not as_json:
        output.line(f"imported {imported:,}, already in the store {known:,}{f', empty {empty:,}' if empty else ''}")
    return code


def _import_folder(library: Library, folder: str, *, as_json: bool) -> int:
    code, imported, known, others = exit_codes.Exit.DONE, 0, 0, 0
    for number, found in enumerate(import_folder(folder, library.store), start=1):
        output.progress(f"{number:,} files")
        if not isinstance(found, UnimportedFile):
            output.progress("")
            imported += bool(found.is_new or found.turns)
            known += not (found.is_new or found.turns)
            _show(found, as_json=as_json)
        elif found.is_session:
            output.progress("")
            if isinstance(found.error, SessionDivergedError):
                found.error.hint = f"segue import {shlex.quote(found.file)} {_DIVERGED}"
            output.warn(SEGUE_HINTS.describe(found.error))
            code = exit_codes.exit_code_of(found.error)
        else:
            others += 1
    output.progress("")
    if others:
        output.warn(f"{others} Markdown {'file is' if others == 1 else 'files are'} not an export and skipped")
    if not (imported or known or code):
        output.warn(f"there is no session in {folder}")
    elif not as_json:
        output.line(f"imported {imported:,}, already in the store {known:,}")
    return code


def _show(found: ImportedFile, *, as_json: bool) -> None:
    if as_json:
        from msgspec.structs import asdict

        output.data_line(asdict(found))
        return
    turns = f"{found.turns:,} {'turn' if found.turns == 1 else 'turns'}"
    if not found.is_whole and (found.is_new or found.turns):
        turns += " of one branch; only --format json exports everything"
    output.line(f"{found.session_id}: {turns if found.is_new or found.turns else 'already in the store, nothing new'}")


def _not_found(path: str) -> NotFoundError:
    tools = tuple(with_history())
    near = difflib.get_close_matches(path, tools, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the AI tools are {', '.join(tools)}"
    return NotFoundError(f"there is no file or AI tool {path!r:.200}", hint=hint)
