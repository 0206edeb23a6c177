"""Patterns of paths: what `*`, `?` and `**` match, and how a thousand patterns stay cheap.

`*` matches any characters within one name, and `?` matches one. A whole name `**` matches any number of names, or none:
`a/**` matches `a` and everything in it. Elsewhere `**` is the same as `*`, but in deny patterns it matches any
characters including slashes: `**.pem` matches every name with this ending. A trailing slash is the same as `/**`. All
other characters match themselves, case matters, and names with a leading dot are not special.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from segue.permissions.scope import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WILD = re.compile(r"[*?]")
_NAMES = "(?:[^/]+/)*"


class BaseFolders(NamedTuple):
    """The folders that relative patterns and `~` start from."""

    project_root: str
    home: str

    def absolute(self, path: str) -> str:
        """Make a relative path, or one that starts with `~`, absolute, and change nothing else about it."""
        if path == "~" or path.startswith("~/"):
            return f"{self.home}/{path[2:]}"
        return path if path.startswith("/") else f"{self.project_root}/{path}"


class _Tail(NamedTuple):
    pattern: str
    regex: str


class PathPatterns:
    """A set of patterns. With `beneath` they are deny patterns: they also match everything below a matching path."""

    def __init__(self, patterns: Sequence[str], bases: BaseFolders, *, beneath: bool = False) -> None:
        self._beneath = beneath
        self._exact: dict[str, str] = {}
        # By the folder where the wildcards of a pattern begin: only those of the parent folders of a path are tried.
        self._tails: defaultdict[str, list[_Tail]] = defaultdict(list)
        self._compiled: dict[str, re.Pattern[str]] = {}
        real = {folder: os.path.realpath(folder) for folder in bases}
        for pattern in patterns:
            everywhere = beneath and pattern.startswith("**")
            fixed, tail = split_pattern(f"/{pattern}" if everywhere else pattern, bases)
            regexes = [tail_regex(names) for names in (expand_double_stars(tail) if beneath else [tail])]
            for start in self._starts(fixed, real):
                if tail:
                    self._tails[start].extend(_Tail(pattern, regex) for regex in regexes)
                else:
                    self._exact.setdefault(start, pattern)

    def find(self, path: str) -> str | None:
        """Find the pattern that matches an absolute, normalized path: the one whose wildcards begin deepest."""
        path = path.rstrip("/")
        found = self._exact.get(path)
        if found is not None:
            return found
        for start in _upwards(path):
            if self._beneath and start in self._exact:
                return self._exact[start]
            tails = self._tails.get(start)
            if tails:
                match = self._regex(start, tails).match(f"{path[len(start) + 1 :]}/" if start != path else "")
                if match is not None and match.lastindex is not None:
                    return tails[match.lastindex - 1].pattern
        return None

    def may_match_beneath(self, folder: str) -> str | None:
        """Find a pattern that could match something in the folder, at any depth."""
        folder = folder.rstrip("/")
        inside = f"{folder}/"
        for start, pattern in self._exact.items():
            if start.startswith(inside):
                return pattern
        for start, tails in self._tails.items():
            if start == folder or start.startswith(inside) or inside.startswith(f"{start}/"):
                return tails[0].pattern
        return None

    def _starts(self, fixed: str, real: dict[str, str]) -> set[str]:
        """The folder as written and, below the project and the home folder, as resolved.

        Deny patterns follow every link. Allow patterns must not: otherwise a link could widen the scope.
        """
        starts = {fixed}
        for base, real_base in real.items():
            if fixed == base or fixed.startswith(f"{base.rstrip('/')}/"):
                starts.add((real_base + fixed[len(base.rstrip("/")) :]).rstrip("/"))
        if self._beneath:
            starts.add(os.path.realpath(fixed or "/").rstrip("/"))
        return starts

    def _regex(self, start: str, tails: list[_Tail]) -> re.Pattern[str]:
        compiled = self._compiled.get(start)
        if compiled is None:
            end = "" if self._beneath else r"\Z"
            compiled = re.compile("|".join(f"({tail.regex}){end}" for tail in tails))
            self._compiled[start] = compiled
        return compiled


def split_pattern(pattern: str, bases: BaseFolders) -> tuple[str, list[str]]:
    """Split into the folder before the first wildcard and the names after it. The root folder is the empty string."""
    if pattern.startswith(PROJECT_ROOT):
        fixed, rest = bases.project_root, pattern[len(PROJECT_ROOT) :]
    elif pattern == "~" or pattern.startswith("~/"):
        fixed, rest = bases.home, pattern[1:]
    else:
        fixed, rest = ("", pattern) if pattern.startswith("/") else (bases.project_root, pattern)
    names = [name for name in rest.split("/") if name not in {"", "."}]
    if rest.endswith("/"):
        names.append("**")
    wild = next((at for at, name in enumerate(names) if _WILD.search(name)), len(names))
    return "/".join([fixed.rstrip("/"), *names[:wild]]), names[wild:]


def expand_double_stars(names: Sequence[str]) -> list[list[str]]:
    """Expand names that contain `**` into alternatives in which it spans folders; one of them must match."""
    ways: list[list[str]] = [[]]
    for name in names:
        first, *rest = [name] if name == "**" else re.split(r"\*{2,}", name)
        readings = [[first]] if first else [[]]
        for piece in rest:
            across = [[*reading[:-1], *(f"{last}*" for last in reading[-1:]), "**"] for reading in readings]
            within = [[*reading[:-1], f"{reading[-1]}*{piece}"] for reading in readings if reading and piece]
            readings = [[*reading, f"*{piece}"] if piece else reading for reading in across] + within
        ways = [[*way, *reading] for way in ways for reading in readings]
    return ways


def tail_regex(names: Sequence[str]) -> str:
    """The regex for a text in which every name ends in a slash.

    Between two `**` the first match is as good as any other, so there is no backtracking: no pattern and no path can
    make this slow.
    """
    runs: list[list[str]] = [[]]
    for name in names:
        if name == "**":
            runs.append([])
        else:
            runs[-1].append(f"{glob_regex(name, '[^/]')}/")
    first, *rest = ("".join(run) for run in runs)
    if not rest:
        return first
    middle = "".join(f"(?>(?:[^/]+/)*?{run})" for run in rest[:-1] if run)
    return f"{first}{middle}{_NAMES}{rest[-1]}"


def glob_regex(text: str, any_one: str) -> str:
    """The regex of a glob whose wildcards match the characters of `any_one`; it never backtracks over a star."""
    pieces = ["".join(any_one if mark == "?" else re.escape(mark) for mark in run) for run in re.split(r"\*+", text)]
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>{any_one}*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}{any_one}*{pieces[-1]}"


def _upwards(path: str) -> Iterator[str]:
    """Yield the path and all its parent folders up to the root."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
