"""What no scope lets an agent change: whatever decides what an agent may do next, here or in another tool.

Folders of this machine are told by whoever opens the session. Names hold anywhere, in any case of letters, since many
file systems do not tell one case from another.
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
        ".cursor",
        ".mcp.json",
        ".envrc",
        ".aider.conf.yml",
        ".vscode",  # tasks run programs
    }
)
"""With all that is beneath them."""

STEERING = frozenset({"agents.md", "claude.md", "gemini.md", ".cursorrules", ".windsurfrules"})
"""Read by agents as orders. A pattern allows writing one only if it spells the name out: `**` does not."""

_FOLDERS = ("journal", "gptel", "soleur", "ralph")
"""Stores whose folder holds sessions and nothing else."""
_LINKED_FILES = 20_000
"""So many files are compared at most, for a file that has more than one name."""


class Protected(Struct, frozen=True, kw_only=True):
    """Folders and files of this machine, as they are called and as they resolve."""

    secret: tuple[str, ...] = ()
    """Neither read nor written: keys, state, configuration."""
    kept: tuple[str, ...] = ()
    """Not written: where sessions are."""

    def beside(self, store: str, session_id: str, *, root: str) -> Protected:
        """With the place where a store keeps its sessions, by its URL."""
        scheme, _, path = store.partition(":")
        if scheme not in _FOLDERS or not path:
            return self  # in memory, in a database, or under names that are protected anywhere
        folder = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - a text in, a text out
        if _is_in(os.path.realpath(root), os.path.realpath(folder)):  # the project lies in it: then no more than this
            folder = f"{folder}/{session_id}.jsonl"
        return Protected(secret=self.secret, kept=(*self.kept, folder))

    def find(self, action: Literal["read", "write"], path: str) -> str | None:
        """What protects an absolute path, in words; None if nothing does."""
        for folder in _places(self.secret):
            if _is_in(path, folder):
                return f"{folder} is Segue's own"
        if action == "read":
            return None
        for folder in _places(self.kept):
            if _is_in(path, folder):
                return f"sessions are kept in {folder}"
        names = path.split("/")
        for at, name in enumerate(names):
            if is_protected_name(name, names[at - 2] if at > 1 else ""):
                return f"{name} decides what agents and other programs do"
        return None

    def find_linked(self, path: str) -> str | None:
        """The protected file that a path is another name of, as far as one can tell; None for most."""
        try:
            found = os.lstat(path)
        except OSError:
            return None
        if found.st_nlink == 1 or not stat.S_ISREG(found.st_mode):
            return None
        left = _LINKED_FILES
        for folder in (*_places(self.secret), *_places(self.kept)):
            for entry in _files(folder):
                left -= 1
                if not left:
                    return None
                if entry.inode() == found.st_ino and os.path.samestat(found, entry.stat(follow_symlinks=False)):
                    return entry.path
        return None


def is_protected_name(name: str, above_folder: str = "") -> bool:
    """Whether a name is, in a folder that is itself in `above_folder`: the scope of a branch is called like others."""
    plain = _plain(name)
    return plain in NAMES or (plain in {"scope.yml", "scope-plan.yml"} and _plain(above_folder) == "branches")


def steers(path: str) -> bool:
    return _plain(path.rpartition("/")[2]) in STEERING


def is_spelt_out(pattern: str, path: str) -> bool:
    """Whether the last name of a pattern is that of the path."""
    return pattern.rpartition("/")[2] == path.rpartition("/")[2]


def _plain(name: str) -> str:
    """As a file system that is lenient reads it: any case, any composition, without what is not to be seen."""
    if name.isascii():
        return name.lower()
    seen = "".join(mark for mark in name if unicodedata.category(mark) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


@lru_cache(maxsize=32)
def _places(folders: tuple[str, ...]) -> tuple[str, ...]:
    """As they are called and as they resolve."""
    return tuple(dict.fromkeys(place for folder in folders for place in (folder, os.path.realpath(folder)) if folder))


def _is_in(path: str, folder: str) -> bool:
    """Also in another case, where that leads to the same place."""
    if path[: len(folder)].casefold() != folder.casefold() or path[len(folder) : len(folder) + 1] not in {"", "/"}:
        return False
    return path.startswith(folder) or _is_same(path, folder)


def _is_same(path: str, folder: str) -> bool:
    """Whether a path in another case leads into the folder; where nothing is there to compare, it may."""
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
