"""Patterns: what `*`, `?` and `**` mean, and how a thousand of them stay cheap.

In a path, `*` stands for any characters of one name and `?` for one of them. A whole name `**` stands for any number of
names, none included, so that `a/**` is `a` and all that is beneath it; elsewhere `**` is no more than `*`, but in what
denies it stands for any characters, slashes included: `**.pem` is every name that ends so. A slash at the end says the
same as `/**`. Every other character stands for itself, upper and lower case differ, and names that begin with a dot are
names like any other.
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


class Anchors(NamedTuple):
    """The folders that patterns and paths may leave unsaid, as they are called and as they really are."""

    project_root: str
    home: str

    def absolute(self, path: str) -> str:
        """A path that begins with `~` or with no slash, made absolute; nothing else about it is changed."""
        if path == "~" or path.startswith("~/"):
            return f"{self.home}/{path[2:]}"
        return path if path.startswith("/") else f"{self.project_root}/{path}"


class _Tail(NamedTuple):
    pattern: str
    regex: str


class PathPatterns:
    """Many patterns, asked at once. With `beneath` they are read as those that deny."""

    def __init__(self, patterns: Sequence[str], anchors: Anchors, *, beneath: bool = False) -> None:
        self._beneath = beneath
        self._exact: dict[str, str] = {}
        # By the folder where the wildcards of a pattern begin: a path asks only those of the folders it is in.
        self._tails: defaultdict[str, list[_Tail]] = defaultdict(list)
        self._compiled: dict[str, re.Pattern[str]] = {}
        real = {folder: os.path.realpath(folder) for folder in anchors}
        for pattern in patterns:
            everywhere = beneath and pattern.startswith("**")
            fixed, tail = split_pattern(f"/{pattern}" if everywhere else pattern, anchors)
            regexes = [tail_regex(names) for names in (deeper(tail) if beneath else [tail])]
            for start in self._starts(fixed, real):
                if tail:
                    self._tails[start].extend(_Tail(pattern, regex) for regex in regexes)
                else:
                    self._exact.setdefault(start, pattern)

    def find(self, path: str) -> str | None:
        """The pattern that matches an absolute, normalised path; the one whose wildcards begin deepest."""
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
        """A pattern that could match something in the folder, however deep."""
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
        """The folder as it is called and, beneath the project and the home, as it really is.

        What denies follows every link; what allows must not, or whoever makes a link would choose what is allowed.
        """
        starts = {fixed}
        for called, place in real.items():
            if fixed == called or fixed.startswith(f"{called.rstrip('/')}/"):
                starts.add((place + fixed[len(called.rstrip("/")) :]).rstrip("/"))
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


def split_pattern(pattern: str, anchors: Anchors) -> tuple[str, list[str]]:
    """The folder up to the first wildcard, and the names from there on. The root is the empty text."""
    if pattern.startswith(PROJECT_ROOT):
        fixed, rest = anchors.project_root, pattern[len(PROJECT_ROOT) :]
    elif pattern == "~" or pattern.startswith("~/"):
        fixed, rest = anchors.home, pattern[1:]
    else:
        fixed, rest = ("", pattern) if pattern.startswith("/") else (anchors.project_root, pattern)
    names = [name for name in rest.split("/") if name not in {"", "."}]
    if rest.endswith("/"):
        names.append("**")
    wild = next((at for at, name in enumerate(names) if _WILD.search(name)), len(names))
    return "/".join([fixed.rstrip("/"), *names[:wild]]), names[wild:]


def deeper(names: Sequence[str]) -> list[list[str]]:
    """The ways to read names in which `**` is a part, so that it reaches over folders; one of them must match."""
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
    """For a text in which every name ends in a slash.

    Between two `**` the first place that fits is as good as any other, so that nothing is tried twice: no pattern and
    no path can make this slow.
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
    """`*` and `?` over the characters that `any_one` takes, without ever going back more than one star."""
    pieces = ["".join(any_one if mark == "?" else re.escape(mark) for mark in run) for run in re.split(r"\*+", text)]
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>{any_one}*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}{any_one}*{pieces[-1]}"


def _upwards(path: str) -> Iterator[str]:
    """The path, the folder it is in, and so on up to the root."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
