"""A scope as the kernel can enforce it: trees that are open, and what in them is not.

The kernel knows paths and no patterns. What a pattern says of names that are not there yet cannot be told to it, so it
is stricter than the scope there, and never wider.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.descent import descend
from segue.errors import StorageError, UsageError
from segue.permissions.path_patterns import Anchors, PathPatterns, split_pattern
from segue.permissions.protected import is_protected_name, is_spelt_out, steers
from segue.sandbox.box import Box, programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from segue.permissions import Protected
    from segue.permissions.scope import Scope

_GIT = "/.git"
ENTRIES = 300_000
"""Looked at, at most, to find what is closed in the trees that are open."""


class Confinement:
    """What the commands of one session are held to. `scopes` hold together: all of them must allow."""

    def __init__(
        self,
        scopes: Sequence[Scope],
        *,
        root: str,
        home: str,
        cwd: str,
        protected: Protected,
        environ: Mapping[str, str],
        runs_git: bool = False,
    ) -> None:
        self._scopes = scopes
        self._anchors = Anchors(os.path.normpath(root), os.path.normpath(home))
        self._cwd = os.path.realpath(cwd)
        self._protected = protected
        self._environ = environ
        self._runs_git = runs_git
        self._left = ENTRIES
        self._denied = [PathPatterns(scope.deny, self._anchors, beneath=True) for scope in scopes]
        self._spelt_out = tuple(pattern for scope in scopes for pattern in scope.write)

    def box(self, *, read: Sequence[str] = (), write: Sequence[str] = ()) -> Box:
        """With files that are open beside what the scope says, since somebody agreed to them."""
        trees_read, trees_write = self._trees("read"), self._trees("write")
        sealed: dict[str, None] = {}
        masked: dict[str, None] = dict.fromkeys(self._protected.secret)
        for tree in {*trees_read, *trees_write}:
            is_written = any(_is_in(tree, other) for other in trees_write)
            if is_written or any(denied.may_match_beneath(tree) for denied in self._denied):
                self._look_into(tree, sealed if is_written else {}, masked)
        return Box(
            read=(*programs(self._environ, self._anchors.home), *trees_read, *read),
            write=(*trees_write, *write),
            sealed=(*sealed, *self._protected.kept),
            masked=tuple(masked),
            network=all(scope.network for scope in self._scopes),
        )

    def place_of(self, path: str) -> str:
        """Where a path of a command leads."""
        is_whole = path.startswith(("/", "~/")) or path == "~"
        return os.path.realpath(self._anchors.absolute(path if is_whole else f"{self._cwd}/{path}"))

    def covers(self, path: str) -> bool:
        """Whether a path may be written as part of a tree."""
        return any(_is_in(path, tree) for tree in self._trees("write") if Path(tree).is_dir())

    def watched(self) -> dict[str, set[str]]:
        """The protected names in the folders where one takes effect: the root, the folder at hand, and between."""
        root = os.path.realpath(self._anchors.project_root)
        folders = [root, self._cwd, *(str(one) for one in Path(self._cwd).parents if _is_in(str(one), root))]
        return {folder: set(self._names(folder)) for folder in dict.fromkeys(folders)}

    def set_aside(self, before: Mapping[str, set[str]]) -> list[str]:
        """Rename what has come up under a protected name meanwhile; in words, what was done."""
        told = []
        for folder, known in before.items():
            for name in sorted(set(self._names(folder)) - known):
                with suppress(StorageError), descend(folder) as held:
                    told.append(f"{name} is a protected name: what was made under it is now {held.set_aside(name)}")
        return told

    def _names(self, folder: str) -> Iterator[str]:
        with suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208 - texts will do
                if is_protected_name(name) or (steers(name) and not self._is_spelt_out(f"{folder}/{name}")):
                    yield name

    def _trees(self, action: str) -> list[str]:
        """What a list of the scope opens; where two scopes hold, what both do."""
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
        fixed, tail = split_pattern(pattern, self._anchors)
        for called in self._anchors:
            if fixed == called or fixed.startswith(f"{called.rstrip('/')}/"):
                fixed = os.path.realpath(called).rstrip("/") + fixed[len(called.rstrip("/")) :]
                break
        fixed = fixed or "/"
        if os.path.realpath(fixed) != fixed or self._protected.find("write" if action == "write" else "read", fixed):
            return  # what a link leads to is not allowed by that
        if not tail or tail == ["**"]:
            yield fixed
            return
        patterns = PathPatterns([pattern], self._anchors)
        for entry in self._beneath(fixed):
            if entry.is_file(follow_symlinks=False) and patterns.find(entry.path) is not None:
                yield entry.path

    def _look_into(self, tree: str, sealed: dict[str, None], masked: dict[str, None]) -> None:
        if self._closes(tree):
            masked[tree] = None
        for entry in self._beneath(tree, masked):
            above = entry.path.rsplit("/", 3)[-3]
            if is_protected_name(entry.name, above) or (steers(entry.name) and not self._is_spelt_out(entry.path)):
                sealed[entry.path] = None

    def _beneath(self, folder: str, masked: dict[str, None] | None = None) -> Iterator[os.DirEntry[str]]:
        """All that is in a folder and not closed, without following a link; what is closed is noted in `masked`."""
        folders = [folder]
        while folders:
            with suppress(OSError), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    self._left -= 1
                    if not self._left:
                        raise UsageError(
                            f"{folder} holds too much for a sandbox: more than {ENTRIES:,} files; "
                            "let the scope name the folders that matter"
                        )
                    if masked is not None and self._closes(entry.path):
                        masked[entry.path] = None
                        continue
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)

    def _closes(self, path: str) -> bool:
        found = {denied.find(path) for denied in self._denied} - {None}
        if self._runs_git:  # whoever lets git run lets it read what it keeps
            found = {pattern for pattern in found if pattern and not pattern.rstrip("/").endswith(_GIT)}
        return bool(found) or path in self._protected.secret

    def _is_spelt_out(self, path: str) -> bool:
        return any(is_spelt_out(pattern, path) for pattern in self._spelt_out)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
