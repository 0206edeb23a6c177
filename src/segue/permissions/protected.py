"""Paths that no scope opens: they decide what an agent may do next, in Segue or in another AI tool.

The folders of this machine are passed in. The names are protected everywhere, in upper and lower case, because many
file systems ignore case.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAMES = frozenset(
    {
        ".git",  # hooks and configuration run programs
        ".session",  # conversations of a workspace
        ".segue",
        ".workspace",
        ".claude",  # settings, hooks, agents, commands, skills
        ".codex",
        ".gemini",
        ".opencode",
        ".kilo",
        ".kilocode",
        ".pi",
        ".copilot",
        ".agents",  # skills of several tools
        ".cursor",
        ".mcp.json",
        ".envrc",
        ".aider.conf.yml",
        ".vscode",  # tasks run programs
    }
)
"""Protected with everything in them."""

INSTRUCTION_FILES = frozenset(
    {"agents.md", "claude.md", "gemini.md", "copilot-instructions.md", ".cursorrules", ".windsurfrules"}
)
"""Files that agents read as instructions. Only a pattern with this exact name allows writing one: `**` does not."""

_FOLDER_SCHEMES = ("journal", "gptel", "soleur", "ralph")
"""Stores whose folder contains nothing but sessions."""
_LINKED_FILES = 20_000
"""The maximum number of files that a file with several hard links is compared to."""


class ProtectedPaths(Struct, frozen=True, kw_only=True):
    """Folders and files of this machine. They are protected as written and as resolved."""

    secret: tuple[str, ...] = ()
    """Never read or written: keys, state, configuration."""
    read_only: tuple[str, ...] = ()
    """Never written: folders with sessions."""

    def with_store(self, store: str, session_id: str, *, root: str) -> ProtectedPaths:
        """Add the folder in which a store, given by its URL, saves its sessions."""
        scheme, _, path = store.partition(":")
        if scheme not in _FOLDER_SCHEMES or not path:
            return self  # in memory, in a database, or under names that are protected everywhere
        folder = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - from string to string
        if _is_in(os.path.realpath(root), os.path.realpath(folder)):  # the project is in it: protect only this session
            folder = f"{folder}/{session_id}.jsonl"
        return ProtectedPaths(secret=self.secret, read_only=(*self.read_only, folder))

    def find_reason(self, action: Literal["read", "write"], path: str) -> str | None:
        """The reason why an absolute path is protected; None if it is not."""
        for folder in _resolved(self.secret):
            if _is_in(path, folder):
                return f"{folder} belongs to Segue"
        if action == "read":
            return None
        for folder in _resolved(self.read_only):
            if _is_in(path, folder):
                return f"sessions are stored in {folder}"
        names = path.split("/")
        for at, name in enumerate(names):
            if is_protected_name(name, names[at - 2] if at > 1 else ""):
                return f"{name} controls what agents and other programs do"
        return None

    def find_hard_link(self, path: str) -> str | None:
        """Find the protected file that a path is a hard link to, within a limit; None if there is none."""
        try:
            found = os.lstat(path)
        except OSError:
            return None
        if found.st_nlink == 1 or not stat.S_ISREG(found.st_mode):
            return None
        left = _LINKED_FILES
        for folder in (*_resolved(self.secret), *_resolved(self.read_only)):
            for entry in _files(folder):
                left -= 1
                if not left:
                    return None
                if entry.inode() == found.st_ino and os.path.samestat(found, entry.stat(follow_symlinks=False)):
                    return entry.path
        return None


def is_protected_name(name: str, above_folder: str = "") -> bool:
    """Whether a name is protected. A scope file is, if its folder is in a folder `branches` (`above_folder`)."""
    plain = _plain(name)
    return plain in NAMES or (plain in {"scope.yml", "scope-plan.yml"} and _plain(above_folder) == "branches")


def is_instruction_file(path: str) -> bool:
    return _plain(path.rpartition("/")[2]) in INSTRUCTION_FILES


def names_exactly(pattern: str, path: str) -> bool:
    """Whether the last name of a pattern is that of the path."""
    return pattern.rpartition("/")[2] == path.rpartition("/")[2]


def _plain(name: str) -> str:
    """Normalize a name as a lenient file system does: case, Unicode composition, invisible characters."""
    if name.isascii():
        return name.lower()
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())


@lru_cache(maxsize=32)
def _resolved(folders: tuple[str, ...]) -> tuple[str, ...]:
    """The folders as written and as resolved."""
    return tuple(dict.fromkeys(path for folder in folders for path in (folder, os.path.realpath(folder)) if folder))


def _is_in(path: str, folder: str) -> bool:
    """Whether a path is in a folder, also in another case if the file system ignores case."""
    if path[: len(folder)].casefold() != folder.casefold() or path[len(folder) : len(folder) + 1] not in {"", "/"}:
        return False
    return path.startswith(folder) or _is_same(path, folder)


def _is_same(path: str, folder: str) -> bool:
    """Whether a path in another case leads into the folder; assumed if the folder does not exist."""
    start = "/".join(PurePosixPath(path).parts[: len(PurePosixPath(folder).parts)]).replace("//", "/", 1)
    try:
        return Path(start).samefile(folder)
    except OSError:
        return not os.path.lexists(folder)


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    found: Sequence[os.DirEntry[str]] = ()
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        else:
            yield entry
