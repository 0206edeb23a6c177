"""Where tools are on the PATH, where they keep their sessions, and how a file is put there."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from segue import process
from segue.durable.folder import Folder
from segue.durable.kernel import storage_error
from segue.errors import NotFoundError, StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NATIVE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
PATIENCE_SECONDS = 120


def get_program(name: str, environ: Mapping[str, str]) -> str:
    found = process.which(name, environ)
    if found is None:
        raise NotFoundError(f"there is no {name} on the PATH", hint=f"install {name}, or use another tool")
    return found


def check_native_id(text: str) -> str:
    """Give the text back if it can name a session of a tool, and so be no option and no path."""
    if _NATIVE_ID.fullmatch(text) is None:
        raise UsageError(f"{text[:40]!r} is not the id of a session", hint="take it from the tool's own list")
    return text


def put(folder: Path, name: str, data: bytes) -> str:
    """A whole new file, durable when it returns; where it is."""
    place = Folder(os.path.realpath(folder))
    place.make()
    place.create(name, data)
    return place.path_of(name)


def take(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise storage_error(error, str(path), "read") from error


def discard(path: str) -> None:
    """Remove a file of ours that is needed no more."""
    folder, name = os.path.split(path)
    Folder(folder).discard(name)


def ask(argv: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> bytes:
    """What a command of the tool writes. StorageError with its own message if it fails."""
    command = " ".join(argv[:2])
    try:
        ended = process.run(argv, environ=environ, cwd=cwd, timeout_seconds=PATIENCE_SECONDS)
    except OSError as error:
        raise storage_error(error, argv[0], "start") from error
    if ended.code is None:
        raise StorageError(f"{command} did not end in {PATIENCE_SECONDS} seconds", hint="try again")
    if ended.code:
        said = " ".join((ended.errors or ended.output.decode("utf-8", "replace")).split())[-300:]
        raise StorageError(f"{command} failed: {said or 'it does not say why'}", hint="run it by hand")
    return ended.output
