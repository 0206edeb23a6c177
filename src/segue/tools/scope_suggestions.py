"""What to add to a scope so that it allows one thing, and as little else as a pattern can."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from segue.permissions.shell_parser import NotUnderstoodError, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.permissions import Action
    from segue.tools.tool import PermissionRequest

_NOT_EXACT = re.compile(r"[*?\x00-\x1f\x7f]")
_NOT_A_WORD = re.compile(r"[*?\s\x00-\x1f\x7f]")
_NOWHERE = "/dev/null"


def patterns_for(wish: PermissionRequest, *, cwd: str, root: str, home: str) -> tuple[tuple[Action, str], ...]:
    """Patterns that allow exactly this; none where no pattern can say it."""
    try:
        if wish.action == "shell":
            found = list(_of_command(wish.target, cwd, root, home))
        else:
            found = list(_of_path(wish.action, wish.target, cwd, root, home))
    except (NotUnderstoodError, _InexactError):
        return ()
    beneath = "/**" if wish.is_deep else ""
    return tuple(dict.fromkeys((action, f"{pattern}{beneath}") for action, pattern in found))


class _InexactError(Exception):
    """A name that a pattern would take for more than itself."""


def _of_command(command: str, cwd: str, root: str, home: str) -> Iterator[tuple[Action, str]]:
    for part in parse(command):
        words = [word for word in part.words if word is not None and word and not _NOT_A_WORD.search(word)]
        if len(words) < len(part.words):
            raise _InexactError
        if words:
            yield "shell", " ".join(words)
        for redirection in part.redirections:
            if redirection.path != _NOWHERE:
                yield from _of_path("write" if redirection.writes else "read", redirection.path, cwd, root, home)


def _of_path(action: Action, path: str, cwd: str, root: str, home: str) -> Iterator[tuple[Action, str]]:
    """As it is spelt and as it resolves: both are asked about."""
    if path == "~" or path.startswith("~/"):
        path = f"{home}/{path[2:]}"
    spelt = os.path.normpath(f"{cwd}/{path}" if not path.startswith("/") else path)
    for place in (spelt, os.path.realpath(spelt)):
        if _NOT_EXACT.search(place):
            raise _InexactError
        yield action, place.removeprefix(f"{root.rstrip('/')}/")
