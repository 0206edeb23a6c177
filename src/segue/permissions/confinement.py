"""A scope as the kernel can enforce it: open folders, and the closed paths in them.

The kernel knows paths, not patterns. A pattern for names that do not exist yet cannot be expressed, so the confinement
is stricter than the scope there, and never wider.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.descent import descend
from segue.errors import StorageError, UsageError
from segue.permissions.path_patterns import BaseFolders, PathPatterns, split_pattern
from segue.permissions.protected import is_instruction_file, is_protected_name, names_exactly
from segue.sandbox.policy import SandboxPolicy, program_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from segue.permissions import ProtectedPaths
    from segue.permissions.scope import Scope

_GIT = "/.git"
MAX_ENTRIES = 300_000
"""The number of directory entries that are read to find closed paths in open folders."""


class Confinement:
    """The confinement of the commands of one session. All of the `scopes` must allow what they do."""

    def __init__(
        self,
        scopes: Sequence[Scope],
        *,
        root: str,
        home: str,
        cwd: str,
        protected: ProtectedPaths,
        environ: Mapping[str, str],
        runs_git: bool = False,
    ) -> None:
        self._scopes = scopes
        self._bases = BaseFolders(os.path.normpath(root), os.path.normpath(home))
        self._cwd = os.path.realpath(cwd)
        self._protected = protected
        self._environ = environ
        self._runs_git = runs_git
        self._entries_left = MAX_ENTRIES
        self._denied = [PathPatterns(scope.deny, self._bases, beneath=True) for scope in scopes]
        self._write_patterns = tuple(pattern for scope in scopes for pattern in scope.write)

    def policy(self, *, read: Sequence[str] = (), write: Sequence[str] = ()) -> SandboxPolicy:
        """The sandbox, with additional files that the user allowed besides the scope."""
        trees_read, trees_write = self._trees("read"), self._trees("write")
        read_only: dict[str, None] = {}
        hidden: dict[str, None] = dict.fromkeys(self._protected.secret)
        for tree in {*trees_read, *trees_write}:
            is_written = any(_is_in(tree, other) for other in trees_write)
            if is_written or any(denied.may_match_beneath(tree) for denied in self._denied):
                self._collect_closed(tree, read_only if is_written else {}, hidden)
        return SandboxPolicy(
            read=(*program_folders(self._environ, self._bases.home), *trees_read, *read),
            write=(*trees_write, *write),
            read_only=(*read_only, *self._protected.read_only),
            hidden=tuple(hidden),
            network=all(scope.network for scope in self._scopes),
        )

    def resolve(self, path: str) -> str:
        """The real path of a path in a command."""
        is_whole = path.startswith(("/", "~/")) or path == "~"
        return os.path.realpath(self._bases.absolute(path if is_whole else f"{self._cwd}/{path}"))

    def covers(self, path: str) -> bool:
        """Whether a path may be written because it is in an open folder."""
        return any(_is_in(path, tree) for tree in self._trees("write") if Path(tree).is_dir())

    def protected_names(self) -> dict[str, set[str]]:
        """The protected names in the folders where they take effect: the root, the current folder, and between."""
        root = os.path.realpath(self._bases.project_root)
        folders = [root, self._cwd, *(str(one) for one in Path(self._cwd).parents if _is_in(str(one), root))]
        return {folder: set(self._names(folder)) for folder in dict.fromkeys(folders)}

    def set_aside(self, before: Mapping[str, set[str]]) -> list[str]:
        """Rename what was created under a protected name meanwhile, and return a message for each."""
        messages = []
        for folder, known in before.items():
            for name in sorted(set(self._names(folder)) - known):
                with suppress(StorageError), descend(folder) as held:
                    messages.append(f"{name} is a protected name: the new file was renamed to {held.set_aside(name)}")
        return messages

    def _names(self, folder: str) -> Iterator[str]:
        with suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208 - strings are enough
                if is_protected_name(name) or (is_instruction_file(name) and not self._is_named(f"{folder}/{name}")):
                    yield name

    def _trees(self, action: str) -> list[str]:
        """The folders and files that a list of the scope opens; with several scopes, those that all of them open."""
        found: list[str] | None = None
        for scope in self._scopes:
            trees = [tree for pattern in getattr(scope, action) for tree in self._opened(pattern, action)]
            if found is not None:
                before = found
                trees = [
                    *(one for one in trees if any(_is_in(one, other) for other in before)),
                    *(one for one in before if any(_is_in(one, other) for other in trees)),
                ]
            found = list(dict.fromkeys(trees))
        return found or []

    def _opened(self, pattern: str, action: str) -> Iterator[str]:
        fixed, tail = split_pattern(pattern, self._bases)
        for base in self._bases:
            if fixed == base or fixed.startswith(f"{base.rstrip('/')}/"):
                fixed = os.path.realpath(base).rstrip("/") + fixed[len(base.rstrip("/")) :]
                break
        fixed = fixed or "/"
        if os.path.realpath(fixed) != fixed or self._protected.find_reason(
            "write" if action == "write" else "read", fixed
        ):
            return  # a pattern with a link does not allow the target of the link
        if not tail or tail == ["**"]:
            yield fixed
            return
        patterns = PathPatterns([pattern], self._bases)
        for entry in self._walk(fixed):
            if entry.is_file(follow_symlinks=False) and patterns.find(entry.path) is not None:
                yield entry.path

    def _collect_closed(self, tree: str, read_only: dict[str, None], hidden: dict[str, None]) -> None:
        if self._is_closed(tree):
            hidden[tree] = None
        for entry in self._walk(tree, hidden):
            above = entry.path.rsplit("/", 3)[-3]
            if is_protected_name(entry.name, above) or (
                is_instruction_file(entry.name) and not self._is_named(entry.path)
            ):
                read_only[entry.path] = None

    def _walk(self, folder: str, hidden: dict[str, None] | None = None) -> Iterator[os.DirEntry[str]]:
        """Walk a folder without following links; with `hidden`, closed paths are added to it and not entered."""
        folders = [folder]
        while folders:
            with suppress(OSError), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    self._entries_left -= 1
                    if not self._entries_left:
                        raise UsageError(
                            f"{folder} has too many files for a sandbox: more than {MAX_ENTRIES:,}; "
                            "narrow the scope to the folders that matter"
                        )
                    if hidden is not None and self._is_closed(entry.path):
                        hidden[entry.path] = None
                        continue
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)

    def _is_closed(self, path: str) -> bool:
        found = {denied.find(path) for denied in self._denied} - {None}
        if self._runs_git:  # a scope that allows git allows it to read .git
            found = {pattern for pattern in found if pattern and not pattern.rstrip("/").endswith(_GIT)}
        return bool(found) or path in self._protected.secret

    def _is_named(self, path: str) -> bool:
        return any(names_exactly(pattern, path) for pattern in self._write_patterns)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
