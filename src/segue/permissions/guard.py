"""What a scope says about one path or one command: yes or no, and why."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.permissions.command_patterns import CommandPatterns
from segue.permissions.path_patterns import Anchors, PathPatterns
from segue.permissions.protected import Protected, is_spelt_out, steers
from segue.permissions.shell_parser import NotUnderstoodError, parse

if TYPE_CHECKING:
    from segue.permissions.scope import Scope
    from segue.permissions.shell_parser import Part

Action = Literal["read", "write", "shell"]
ACTIONS: tuple[Action, ...] = ("read", "write", "shell")
_DOING = {"read": "reading", "write": "writing"}
_NOWHERE = "/dev/null"
_OF_A_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/|$)|/dev/(?:fd|stdin|stdout|stderr)(?:/|$)")
"""Where every process finds something else, so that nobody can say for another where it leads."""
_LINKS = 40


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

    def __init__(self, scope: Scope, *, project_root: str, home: str, protected: Protected | None = None) -> None:
        self._protected = protected or Protected()
        self._anchors = Anchors(os.path.normpath(project_root), os.path.normpath(home))
        self._allowed = {
            "read": PathPatterns(scope.read, self._anchors),
            "write": PathPatterns(scope.write, self._anchors),
        }
        self._denied = PathPatterns(scope.deny, self._anchors, beneath=True)
        self._commands = CommandPatterns(scope.shell_allow)
        self._denied_commands = CommandPatterns(scope.shell_deny)

    def check(self, action: Action, target: str, *, cwd: str = "") -> Verdict:
        """Relative paths are meant from `cwd`, or else from the root of the project. Whatever goes wrong means no."""
        try:
            return self._shell(target, cwd) if action == "shell" else self._path(action, target, cwd)
        except Exception as error:  # noqa: BLE001 - what cannot be judged is not allowed
            return _unjudged(action, target, error)

    def read(self, path: str, *, cwd: str = "") -> Verdict:
        return self.check("read", path, cwd=cwd)

    def write(self, path: str, *, cwd: str = "") -> Verdict:
        return self.check("write", path, cwd=cwd)

    def shell(self, command: str, *, cwd: str = "") -> Verdict:
        """Part by part; one part that is not allowed denies the whole."""
        return self.check("shell", command, cwd=cwd)

    def search(self, folder: str, *, cwd: str = "") -> Verdict:
        """Whether all that is in a folder, however deep, may be read; of a file, whether that may."""
        try:
            return self._search(folder, cwd)
        except Exception as error:  # noqa: BLE001 - what cannot be judged is not allowed
            return _unjudged("read", folder, error)

    def _search(self, folder: str, cwd: str) -> Verdict:
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
        inside = f"{verdict.place.rstrip('/')}/"
        if any(secret.startswith(inside) for secret in self._protected.secret):
            return _no("read", folder, "some of what is in it is Segue's own", place=verdict.place)
        return verdict

    def _shell(self, command: str, cwd: str) -> Verdict:
        try:
            parts = parse(command)
        except NotUnderstoodError as error:
            named = self._denied_commands.find_named(command)
            if named is None:
                return _no("shell", command, f"it is not understood: {error}")
            reason = f"it is not understood, and may be what {named!r} denies: {error}"
            return _no("shell", command, reason, pattern=named, is_final=True)
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
        denial, refusal = self._denied_commands.find_denying(part), None
        if denial is not None:
            how = "is" if denial.is_certain else "may be"
            reason = f"{shown!r} {how} denied by {denial.pattern!r}"
            refusal = _no("shell", command, reason, pattern=denial.pattern, is_final=denial.is_certain)
            if refusal.is_final:
                return refusal
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
        if not _is_path(path) or not _is_path(cwd or "."):
            return _no(action, path, "it is no path", is_final=True)
        spelt = self._anchors.absolute(
            path if not cwd or path.startswith(("/", "~/")) or path == "~" else f"{cwd}/{path}"
        )
        literal = f"/{os.path.normpath(spelt).lstrip('/')}"
        place = "" if _OF_A_PROCESS.match(literal) else os.path.realpath(spelt)
        if not place or (place != literal and _leads_through_process(spelt)):
            return _no(action, path, "where it leads is another place for every process", is_final=True, place=place)
        leads = "" if place == literal else f"it leads to {place}, and "
        for where, told in ((literal, ""), (place, leads)):
            if (pattern := self._denied.find(where)) is not None:
                reason = f"{told}that is denied by {pattern!r}" if told else f"denied by {pattern!r}"
                return _no(action, path, reason, pattern=pattern, is_final=True, place=place)
        for where in (literal, place):
            if (protecting := self._protected.find(action, where)) is not None:
                why = f"no scope allows {_DOING[action]} it: {protecting}"
                return _no(action, path, why, is_final=True, place=place)
        if (other := self._protected.find_linked(place)) is not None:
            return _no(action, path, f"it is another name of {other}", is_final=True, place=place)
        allowing = ""
        for where, told in ((literal, ""), (place, leads)):
            pattern = self._allowed[action].find(where)
            if action == "write" and steers(where) and not is_spelt_out(pattern or "", where):
                return _no(action, path, "agents read it as orders, and no pattern names it", place=place)
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


def _unjudged(action: Action, target: str, error: Exception) -> Verdict:
    return _no(action, target, f"it could not be judged: {type(error).__name__}: {error}", is_final=True)


def _is_path(path: str) -> bool:
    try:
        return bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _leads_through_process(path: str) -> bool:
    """Whether one of the links on the way points to what a process sees as its own."""
    names, place, links = path.split("/")[::-1], "", 0
    while names:
        name = names.pop()
        if name in {"", ".", ".."}:
            place = place.rpartition("/")[0] if name == ".." else place
            continue
        above, place = place, f"{place}/{name}"
        if _OF_A_PROCESS.match(place):
            return True
        try:
            target = str(Path(place).readlink())
        except OSError:  # no link, or nothing at all
            continue
        links += 1
        if links > _LINKS:
            return True
        place = "" if target.startswith("/") else above
        names += target.split("/")[::-1]
    return False
