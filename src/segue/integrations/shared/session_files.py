"""Writing, reading and removing the session files of AI tools, and running their commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue import process
from segue.durable.folder import Folder
from segue.durable.kernel import storage_error
from segue.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TIMEOUT_SECONDS = 120


def write_file(folder: Path, name: str, data: bytes) -> str:
    """Write a whole new file, durable on return, and return its path."""
    target = Folder(os.path.realpath(folder))
    target.make()
    target.create(name, data)
    return target.path_of(name)


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise storage_error(error, str(path), "read") from error


def keep_file(path: Path, folder: Path) -> None:
    """Give a file of a tool a second name in another folder, where the tool does not delete it.

    It is a copy where the file system has no hard links. Nothing happens if it is there already, or is gone.
    """
    target = Folder(os.path.realpath(folder))
    if os.path.lexists(target.path_of(path.name)) or not path.is_file():
        return
    target.make()
    try:
        target.kernel.link(str(path), target.path_of(path.name))
    except OSError:
        target.create(path.name, read_file(path))
    target.sync()


def remove_file(path: str) -> None:
    """Remove a file that Segue wrote and that is no longer needed."""
    folder, name = os.path.split(path)
    Folder(folder).discard(name)


def run_command(argv: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> bytes:
    """Run a command of the tool and return its output. StorageError with its own message if it fails."""
    command = " ".join(argv[:2])
    try:
        ended = process.run(argv, environ=environ, cwd=cwd, timeout_seconds=TIMEOUT_SECONDS)
    except OSError as error:
        raise storage_error(error, argv[0], "start") from error
    if ended.code is None:
        raise StorageError(f"{command} did not exit within {TIMEOUT_SECONDS} seconds", hint="try again")
    if ended.code:
        message = " ".join((ended.errors or ended.output.decode("utf-8", "replace")).split())[-300:]
        raise StorageError(f"{command} failed: {message or 'without a message'}", hint="run it by hand")
    return ended.output
