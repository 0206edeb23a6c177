"""What a scope says about one path or one command: yes or no, and why."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.scope.command import CommandPatterns
from segue.scope.pattern import Anchors, PathPatterns
from segue.scope.shell import NotUnderstoodError, parse

if TYPE_CHECKING:
    from segue.formats.scope import Scope
    from segue.scope.shell import Part

Action = Literal["read", "write", "shell"]
ACTIONS: tuple[Action, ...] = ("read", "write", "shell")
_DOING = {"read": "reading", "write": "writing"}
_NOWHERE = "/dev/null"


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether something may be done, and what decided it."""

    allowed: bool
    action: Action
    target: str
    """As it was asked."""
    reason: str
    pattern: str = ""
    """The one that decided; empty where none did."""
    is_final: bool = False
    """Whether a deny pattern decided: then nothing but a change of the scope helps."""
    is_once: bool = False
    """Whether a grant allowed it, which is used up now."""
    place: str = ""
    """Of a path: where it really leads."""


class Guard:
    """A scope, compiled once. Paths are asked as they are spelt and as they resolve, and both must be allowed."""

    def __init__(self, scope: Scope, *, project_root: str, home: str) -> None:
        self._anchors = Anchors(os.path.normpath(project_root), os.path.normpath(home))
        self._allowed = {
            "read": PathPatterns(scope.read, self._anchors),
            "write": PathPatterns(scope.write, self._anchors),
        }
        self._denied = PathPatterns(scope.deny, self._anchors, beneath=True)
        self._commands = CommandPatterns(scope.shell_allow)
        self._denied_commands = CommandPatterns(scope.shell_deny)

    def check(self, action: Action, target: str, *, cwd: str = "") -> Verdict:
        """Relative paths are meant from `cwd`, or else from the root of the project."""
        if action == "shell":
            return self.shell(target, cwd=cwd)
        return self._path(action, target, cwd)

    def read(self, path: str, *, cwd: str = "") -> Verdict:
        return self._path("read", path, cwd)

    def write(self, path: str, *, cwd: str = "") -> Verdict:
        return self._path("write", path, cwd)

    def search(self, folder: str, *, cwd: str = "") -> Verdict:
        """Whether all that is in a folder, however deep, may be read; of a file, whether that may."""
        verdict = self._path("read", folder, cwd)
        if not verdict.allowed or Path(verdict.place).is_file():
            return verdict
        # Only what allows everything allows names that nobody can know.
        for depth in (1, 3):
            inside = "/".join([verdict.place, *(secrets.token_hex(16) for _ in range(depth))])
            if self._allowed["read"].find(inside) is None:
                return _no("read", folder, "no pattern allows reading all that is in it", place=verdict.place)
        pattern = self._denied.may_match_beneath(verdict.place)
        if pattern is not None:
            reason = f"some of what is in it may be denied by {pattern!r}"
            return _no("read", folder, reason, pattern=pattern, place=verdict.place)
        return verdict

    def shell(self, command: str, *, cwd: str = "") -> Verdict:
        """Part by part; one part that is not allowed denies the whole."""
        try:
            parts = parse(command)
        except NotUnderstoodError as error:
            return _no("shell", command, f"it is not understood: {error}")
        if not parts:
            return _no("shell", command, "there is no command in it")
        used: dict[str, None] = {}
        refusals: list[Verdict] = []
        for part in parts:
            verdict = self._part(command, part, cwd)
            if verdict.is_final:
                return verdict
            if verdict.allowed:
                used[verdict.pattern] = None
            else:
                refusals.append(verdict)
        if refusals:
            return refusals[0]
        patterns = [pattern for pattern in used if pattern]
        told = " and ".join(repr(pattern) for pattern in patterns)
        return Verdict(
            allowed=True, action="shell", target=command, reason=f"allowed by {told}", pattern=", ".join(patterns)
        )

    def _part(self, command: str, part: Part, cwd: str) -> Verdict:
        shown = " ".join("…" if word is None else word for word in part.words)
        denying = self._denied_commands.find_denying(part)
        if denying is not None:
            reason = f"{shown!r} is denied by {denying!r}"
            return _no("shell", command, reason, pattern=denying, is_final=True)
        refusal = None
        for redirection in part.redirections:
            if redirection.path == _NOWHERE:
                continue
            verdict = self._path("write" if redirection.writes else "read", redirection.path, cwd)
            if not verdict.allowed:
                reason = f"{_DOING[verdict.action]} {redirection.path!r}: {verdict.reason}"
                refusal = _no("shell", command, reason, pattern=verdict.pattern, is_final=verdict.is_final)
                if refusal.is_final:
                    return refusal
        allowing = self._commands.find_allowing(part) if part.words else ""
        if allowing is None:
            return _no("shell", command, f"no pattern allows {shown!r}")
        return refusal or Verdict(allowed=True, action="shell", target=command, reason="", pattern=allowing)

    def _path(self, action: Literal["read", "write"], path: str, cwd: str) -> Verdict:
        if not path or "\0" in path:
            return _no(action, path, "it is no path")
        spelt = self._anchors.absolute(
            path if not cwd or path.startswith(("/", "~/")) or path == "~" else f"{cwd}/{path}"
        )
        literal = f"/{os.path.normpath(spelt).lstrip('/')}"
        place = os.path.realpath(spelt)
        leads = "" if place == literal else f"it leads to {place}, and "
        for where, told in ((literal, ""), (place, leads)):
            if (pattern := self._denied.find(where)) is not None:
                reason = f"{told}that is denied by {pattern!r}" if told else f"denied by {pattern!r}"
                return _no(action, path, reason, pattern=pattern, is_final=True, place=place)
        allowing = ""
        for where, told in ((literal, ""), (place, leads)):
            pattern = self._allowed[action].find(where)
            if pattern is None:
                return _no(
                    action, path, f"{told}no pattern allows {_DOING[action]} {'that' if told else 'it'}", place=place
                )
            allowing = allowing or pattern
        return Verdict(
            allowed=True, action=action, target=path, reason=f"allowed by {allowing!r}", pattern=allowing, place=place
        )


def _no(
    action: Action, target: str, reason: str, *, pattern: str = "", is_final: bool = False, place: str = ""
) -> Verdict:
    return Verdict(
        allowed=False, action=action, target=target, reason=reason, pattern=pattern, is_final=is_final, place=place
    )
