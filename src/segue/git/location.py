"""Where a repository is. Nothing is run, and git is never left to look for one by itself.

Only a real `.git` counts: a folder, or the file of a worktree or submodule that leads to one. HEAD, config, objects and
refs beside what one works on may be files that a stranger's repository tracks; git would take them for a repository.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import NotFoundError, StorageError

MARKER = ".git"
_LARGEST_BYTES = 1 << 20


class RepositoryLocation(NamedTuple):
    """A working tree and its repository."""

    root: Path
    folder: Path
    """Has HEAD and the index of this working tree."""
    common: Path
    """Has what all working trees share: objects, branches, configuration, hooks."""


def find_location(root: Path) -> RepositoryLocation | None:
    """The repository whose working tree begins in this folder; None if there is none, or its `.git` leads nowhere."""
    marker = root / MARKER
    if marker.is_dir():
        folder = marker
    else:
        said = read_text(marker)
        if not said.startswith("gitdir:"):
            return None
        folder = root / said.removeprefix("gitdir:").strip()
    try:
        shared = read_text(folder / "commondir").strip()
        place = RepositoryLocation(root, Path(os.path.realpath(folder)), Path(os.path.realpath(folder / shared)))
        is_real = os.path.lexists(place.folder / "HEAD") and (place.common / "objects").is_dir()
        return place if is_real and (place.common / "refs").is_dir() else None
    except (OSError, ValueError):  # a name that is too long, or holds a NUL
        return None


def read_text(path: Path) -> str:
    """Of a small file; empty for what cannot be read."""
    try:
        return read_small_file(str(path), size_bytes=_LARGEST_BYTES).decode("utf-8", "replace")
    except (FileNotFoundError, UnusableFileError, StorageError, NotFoundError, ValueError):
        return ""
