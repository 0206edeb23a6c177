"""Where a repository is. Nothing is run here, and git never searches for a repository by itself.

Only a real `.git` counts: a folder, or the file of a worktree or submodule that points to one. HEAD, config, objects
and refs next to the user's files may be files that an untrusted repository tracks; git would accept them as a
repository.
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
    """The folder with HEAD and the index of this working tree."""
    common: Path
    """The folder with what all working trees share: objects, branches, configuration, hooks."""


def find_location(root: Path) -> RepositoryLocation | None:
    """The repository whose working tree starts in this folder; None if there is none, or its `.git` is broken."""
    marker = root / MARKER
    if marker.is_dir():
        folder = marker
    else:
        text = read_text(marker)
        if not text.startswith("gitdir:"):
            return None
        folder = root / text.removeprefix("gitdir:").strip()
    try:
        shared = read_text(folder / "commondir").strip()
        location = RepositoryLocation(root, Path(os.path.realpath(folder)), Path(os.path.realpath(folder / shared)))
        is_real = os.path.lexists(location.folder / "HEAD") and (location.common / "objects").is_dir()
        return location if is_real and (location.common / "refs").is_dir() else None
    except (OSError, ValueError):  # a name that is too long, or holds a NUL
        return None


def read_text(path: Path) -> str:
    """The text of a small file; empty if it cannot be read."""
    try:
        return read_small_file(str(path), size_bytes=_LARGEST_BYTES).decode("utf-8", "replace")
    except (FileNotFoundError, UnusableFileError, StorageError, NotFoundError, ValueError):
        return ""
