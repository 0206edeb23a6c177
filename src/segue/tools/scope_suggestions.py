"""Patterns to add to a scope so that it allows one request and as little else as possible."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from segue.permissions.shell_parser import UnsupportedShellError, parse_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.permissions import Action
    from segue.tools.tool import PermissionRequest

_NOT_EXACT = re.compile(r"[*?\x00-\x1f\x7f]")
_NOT_A_WORD = re.compile(r"[*?\s\x00-\x1f\x7f]")
_DEV_NULL = "/dev/null"


def suggest_patterns(request: PermissionRequest, *, cwd: str, root: str, home: str) -> tuple[tuple[Action, str], ...]:
    """Patterns that allow exactly this request; none where no pattern can express it."""
    try:
        if request.action == "shell":
            found = list(_command_patterns(request.target, cwd, root, home))
        else:
            found = list(_path_patterns(request.action, request.target, cwd, root, home))
    except (UnsupportedShellError, _InexactError):
        return ()
    suffix = "/**" if request.is_recursive else ""
    return tuple(dict.fromkeys((action, f"{pattern}{suffix}") for action, pattern in found))


class _InexactError(Exception):
    """A name that, as a pattern, would match more than itself."""


def _command_patterns(line: str, cwd: str, root: str, home: str) -> Iterator[tuple[Action, str]]:
    for command in parse_shell(line):
        words = [word for word in command.words if word is not None and word and not _NOT_A_WORD.search(word)]
        if len(words) < len(command.words):
            raise _InexactError
        if words:
            yield "shell", " ".join(words)
        for redirection in command.redirections:
            if redirection.path != _DEV_NULL:
                action: Action = "write" if redirection.writes else "read"
                yield from _path_patterns(action, redirection.path, cwd, root, home)


def _path_patterns(action: Action, path: str, cwd: str, root: str, home: str) -> Iterator[tuple[Action, str]]:
    """The path as written and as resolved, since the guard checks both."""
    if path == "~" or path.startswith("~/"):
        path = f"{home}/{path[2:]}"
    written = os.path.normpath(f"{cwd}/{path}" if not path.startswith("/") else path)
    for pattern in (written, os.path.realpath(written)):
        if _NOT_EXACT.search(pattern):
            raise _InexactError
        yield action, pattern.removeprefix(f"{root.rstrip('/')}/")
