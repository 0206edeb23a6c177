"""Checks one path or one command against a scope: allowed or not, and why."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.permissions.command_patterns import CommandPatterns
from segue.permissions.path_patterns import BaseFolders, PathPatterns
from segue.permissions.protected import ProtectedPaths, is_instruction_file, names_exactly
from segue.permissions.shell_parser import UnsupportedShellError, parse_shell

if TYPE_CHECKING:
    from segue.permissions.scope import Scope
    from segue.permissions.shell_parser import SimpleCommand

Action = Literal["read", "write", "shell"]
ACTIONS: tuple[Action, ...] = ("read", "write", "shell")
_DOING = {"read": "reading", "write": "writing"}
_DEV_NULL = "/dev/null"
_PER_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)(?:/|$)|/dev/(?:fd|stdin|stdout|stderr)(?:/|$)")
"""Paths that lead elsewhere in every process, so that they cannot be checked for another one."""
_MAX_LINKS = 40


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether an action is allowed, and why."""

    allowed: bool
    action: Action
    target: str
    """The path or the command as requested."""
    reason: str
    pattern: str = ""
    """The pattern that decided; empty if none did."""
    is_final: bool = False
    """Whether no answer of the user can allow it: only a change of the scope can, if anything."""
    is_once: bool = False
    """Whether a one-time grant allowed it, which is now used up."""
    real_path: str = ""
    """The resolved path; empty for a command."""


class Guard:
    """A compiled scope. A path must be allowed both as written and as resolved."""

    def __init__(self, scope: Scope, *, project_root: str, home: str, protected: ProtectedPaths | None = None) -> None:
        self._protected = protected or ProtectedPaths()
        self._bases = BaseFolders(os.path.normpath(project_root), os.path.normpath(home))
        self._allowed = {
            "read": PathPatterns(scope.read, self._bases),
            "write": PathPatterns(scope.write, self._bases),
        }
        self._denied = PathPatterns(scope.deny, self._bases, beneath=True)
        self._commands = CommandPatterns(scope.shell_allow)
        self._denied_commands = CommandPatterns(scope.shell_deny)

    def check(self, action: Action, target: str, *, cwd: str = "") -> Verdict:
        """Check one action. Relative paths start from `cwd`, or else from the project root. Any error means no."""
        try:
            return self._shell(target, cwd) if action == "shell" else self._path(action, target, cwd)
        except Exception as error:  # noqa: BLE001 - what cannot be checked is not allowed
            return _failed(action, target, error)

    def read(self, path: str, *, cwd: str = "") -> Verdict:
        return self.check("read", path, cwd=cwd)

    def write(self, path: str, *, cwd: str = "") -> Verdict:
        return self.check("write", path, cwd=cwd)

    def shell(self, command: str, *, cwd: str = "") -> Verdict:
        """Check every simple command of the line; one that is not allowed denies the whole line."""
        return self.check("shell", command, cwd=cwd)

    def search(self, folder: str, *, cwd: str = "") -> Verdict:
        """Whether everything in a folder may be read, at any depth; for a file, whether the file may."""
        try:
            return self._search(folder, cwd)
        except Exception as error:  # noqa: BLE001 - what cannot be checked is not allowed
            return _failed("read", folder, error)

    def _search(self, folder: str, cwd: str) -> Verdict:
        verdict = self._path("read", folder, cwd)
        if not verdict.allowed or Path(verdict.real_path).is_file():
            return verdict
        # Only a pattern that allows everything allows random names.
        for depth in (1, 3):
            inside = "/".join([verdict.real_path, *(secrets.token_hex(16) for _ in range(depth))])
            if self._allowed["read"].find(inside) is None:
                return _no("read", folder, "no pattern allows reading everything in it", real_path=verdict.real_path)
        pattern = self._denied.may_match_beneath(verdict.real_path)
        if pattern is not None:
            reason = f"{pattern!r} may deny some of its files"
            return _no("read", folder, reason, pattern=pattern, real_path=verdict.real_path)
        inside = f"{verdict.real_path.rstrip('/')}/"
        if any(secret.startswith(inside) for secret in self._protected.secret):
            return _no("read", folder, "it contains files of Segue itself", real_path=verdict.real_path)
        return verdict

    def _shell(self, line: str, cwd: str) -> Verdict:
        try:
            commands = parse_shell(line)
        except UnsupportedShellError as error:
            named = self._denied_commands.find_named(line)
            if named is None:
                return _no("shell", line, f"it cannot be analyzed: {error}")
            reason = f"it cannot be analyzed, and may be denied by {named!r}: {error}"
            return _no("shell", line, reason, pattern=named, is_final=True)
        if not commands:
            return _no("shell", line, "there is no command in it")
        used: dict[str, None] = {}
        refusals: list[Verdict] = []
        for command in commands:
            verdict = self._command(line, command, cwd)
            if verdict.is_final:
                return verdict
            if verdict.allowed:
                used[verdict.pattern] = None
            else:
                refusals.append(verdict)
        if refusals:
            return refusals[0]
        patterns = [pattern for pattern in used if pattern]
        names = " and ".join(repr(pattern) for pattern in patterns)
        return Verdict(
            allowed=True, action="shell", target=line, reason=f"allowed by {names}", pattern=", ".join(patterns)
        )

    def _command(self, line: str, command: SimpleCommand, cwd: str) -> Verdict:
        shown = " ".join("…" if word is None else word for word in command.words)
        denying, refusal = self._denied_commands.find_denying(command), None
        if denying is not None:
            how = "is" if denying.is_certain else "may be"
            reason = f"{shown!r} {how} denied by {denying.pattern!r}"
            refusal = _no("shell", line, reason, pattern=denying.pattern, is_final=denying.is_certain)
            if refusal.is_final:
                return refusal
        for redirection in command.redirections:
            if redirection.path == _DEV_NULL:
                continue
            verdict = self._path("write" if redirection.writes else "read", redirection.path, cwd)
            if not verdict.allowed:
                reason = f"{_DOING[verdict.action]} {redirection.path!r}: {verdict.reason}"
                refusal = _no("shell", line, reason, pattern=verdict.pattern, is_final=verdict.is_final)
                if refusal.is_final:
                    return refusal
        allowing = self._commands.find_allowing(command) if command.words else ""
        if allowing is None:
            return _no("shell", line, f"no pattern allows {shown!r}")
        return refusal or Verdict(allowed=True, action="shell", target=line, reason="", pattern=allowing)

    def _path(self, action: Literal["read", "write"], path: str, cwd: str) -> Verdict:
        if not _is_path(path) or not _is_path(cwd or "."):
            return _no(action, path, "it is not a valid path", is_final=True)
        written = self._bases.absolute(
            path if not cwd or path.startswith(("/", "~/")) or path == "~" else f"{cwd}/{path}"
        )
        normal = f"/{os.path.normpath(written).lstrip('/')}"
        real_path = "" if _PER_PROCESS.match(normal) else os.path.realpath(written)
        if not real_path or (real_path != normal and _leads_through_process(written)):
            return _no(action, path, "it leads elsewhere in every process", is_final=True, real_path=real_path)
        via_link = "" if real_path == normal else f"it leads to {real_path}, and "
        for candidate, prefix in ((normal, ""), (real_path, via_link)):
            if (pattern := self._denied.find(candidate)) is not None:
                reason = f"{prefix}that is denied by {pattern!r}" if prefix else f"denied by {pattern!r}"
                return _no(action, path, reason, pattern=pattern, is_final=True, real_path=real_path)
        for candidate in (normal, real_path):
            if (protecting := self._protected.find_reason(action, candidate)) is not None:
                reason = f"no scope allows {_DOING[action]} it: {protecting}"
                return _no(action, path, reason, is_final=True, real_path=real_path)
        if (other := self._protected.find_hard_link(real_path)) is not None:
            return _no(action, path, f"it is a hard link to {other}", is_final=True, real_path=real_path)
        allowing = ""
        for candidate, prefix in ((normal, ""), (real_path, via_link)):
            pattern = self._allowed[action].find(candidate)
            if action == "write" and is_instruction_file(candidate) and not names_exactly(pattern or "", candidate):
                return _no(
                    action, path, "agents read it as instructions, and no pattern names it exactly", real_path=real_path
                )
            if pattern is None:
                return _no(
                    action,
                    path,
                    f"{prefix}no pattern allows {_DOING[action]} {'that' if prefix else 'it'}",
                    real_path=real_path,
                )
            allowing = allowing or pattern
        return Verdict(
            allowed=True,
            action=action,
            target=path,
            reason=f"allowed by {allowing!r}",
            pattern=allowing,
            real_path=real_path,
        )


def _no(
    action: Action, target: str, reason: str, *, pattern: str = "", is_final: bool = False, real_path: str = ""
) -> Verdict:
    return Verdict(
        allowed=False,
        action=action,
        target=target,
        reason=reason,
        pattern=pattern,
        is_final=is_final,
        real_path=real_path,
    )


def _failed(action: Action, target: str, error: Exception) -> Verdict:
    return _no(action, target, f"the check failed: {type(error).__name__}: {error}", is_final=True)


def _is_path(path: str) -> bool:
    try:
        return bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _leads_through_process(path: str) -> bool:
    """Whether one of the links in the path points to a per-process path."""
    names, current, links = path.split("/")[::-1], "", 0
    while names:
        name = names.pop()
        if name in {"", ".", ".."}:
            current = current.rpartition("/")[0] if name == ".." else current
            continue
        above, current = current, f"{current}/{name}"
        if _PER_PROCESS.match(current):
            return True
        try:
            target = str(Path(current).readlink())
        except OSError:  # not a link, or missing
            continue
        links += 1
        if links > _MAX_LINKS:
            return True
        current = "" if target.startswith("/") else above
        names += target.split("/")[::-1]
    return False
