"""The one place that calls git: with the repository named, and with nothing of it that runs unless it is trusted.

A repository can name programs in its configuration (hooks, filters, a file system monitor, a way to reach its remote)
and git runs them for whoever works there. So a repository that was not made or trusted here is met with all of that
switched off, and only with commands that look at files, objects and references.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segue.git.process import clean_environ, run
from segue.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segue.git.location import RepositoryLocation
    from segue.git.process import GitResult

_ALWAYS = (
    *("--literal-pathspecs", "--no-optional-locks", "--no-pager"),
    *("-c", "core.fsync=all", "-c", "i18n.commitEncoding=utf-8", "-c", "safe.bareRepository=explicit"),
)
_CLOSED = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand="),
    *("-c", "core.sshCommand=false", "-c", "core.gitProxy=", "-c", "core.askPass=", "-c", "credential.helper="),
    *("-c", "protocol.allow=never", "-c", "commit.gpgSign=false", "-c", "gpg.program=false", "-c", "diff.external="),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false"),
)
# No option of the command line wins over all of `protocol.NAME.allow`; the first of these does, in every git.
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
_NAMED = re.compile(rb"(filter|hook)\.(.*)\.[a-z]+", re.DOTALL)
_OFF = {b"filter": (b"clean=", b"smudge=", b"process=", b"required=false"), b"hook": (b"enabled=false", b"event=")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """How git is called in one repository."""

    place: RepositoryLocation
    environ: Mapping[str, str]
    timeout_seconds: float
    trusted: bool = False
    filters: frozenset[bytes] = frozenset()
    """Those that are switched off."""
    silenced: tuple[bytes, ...] = ()
    """The options that do it."""

    def run(self, *arguments: str | bytes, given: bytes | None = None, index: Path | None = None) -> GitResult:
        """Raises OSError or ValueError if git cannot be started."""
        named = {"GIT_DIR": str(self.place.folder), "GIT_WORK_TREE": str(self.place.root)}
        if index is not None:
            named["GIT_INDEX_FILE"] = str(index)
        return self._run(*arguments, given=given, named=named)

    def discover(self) -> GitResult:
        """What git itself finds at the root. It says no where the repository belongs to another user.

        Of all commands this one alone is not told the repository: git asks for the owner only when it looks for one.
        """
        named = {"GIT_CEILING_DIRECTORIES": str(self.place.root.parent)}
        return self._run("rev-parse", "--is-inside-work-tree", "--absolute-git-dir", named=named)

    def settings(self) -> list[tuple[bytes, bytes]]:
        """The names of all settings that hold here, each with whose it is: `system`, `global`, `local`, `worktree`.

        Raises ValueError if git cannot read them.
        """
        ended = self.run("config", "--null", "--show-scope", "--name-only", "--list")
        if ended.code != 0:
            raise ValueError("its settings cannot be read")
        fields = ended.output.split(b"\0")
        return [pair for pair in zip(fields[0::2], fields[1::2], strict=False) if pair[0] != b"command"]

    def silent(self) -> Git:
        """With its filters and hooks of its settings off: no option is for all of them, so there is one for each.

        Even for a file of nobody's interest git may run a filter, to see whether what it remembers of it still holds.
        Raises ValueError for a name that no option can say.
        """
        found = sorted({match.groups() for _, name in self.settings() if (match := _NAMED.fullmatch(name))})
        if odd := [name for _, name in found if b"=" in name]:
            raise ValueError(f"it has a filter or a hook that cannot be switched off: {odd[0]!r}")
        settings = [b"%s.%s.%s" % (kind, name, off) for kind, name in found for off in _OFF[kind]]
        filters = frozenset(name for kind, name in found if kind == b"filter")
        return replace(self, filters=filters, silenced=tuple(part for one in settings for part in (b"-c", one)))

    def _run(self, *arguments: str | bytes, given: bytes | None = None, named: Mapping[str, str]) -> GitResult:
        closed: tuple[str | bytes, ...] = () if self.trusted else (*_CLOSED, *self.silenced)
        return run(
            [_find_git(self.environ), *_ALWAYS, *closed, *arguments],
            cwd=self.place.root,
            environ={**clean_environ(self.environ), **({} if self.trusted else _OFFLINE), **named},
            timeout_seconds=self.timeout_seconds,
            given=given,
        )


def make_repository(root: Path, environ: Mapping[str, str], *, timeout_seconds: float) -> GitResult:
    """A new one, for the first time in this folder. No template: what it would copy into the repository may run there.

    Raises OSError if git cannot be started.
    """
    named = {"GIT_DIR": os.fspath(root / ".git"), "GIT_WORK_TREE": os.fspath(root)}
    return run(
        [_find_git(environ), *_ALWAYS, *_CLOSED, "init", "--quiet", "--template="],
        cwd=root,
        environ={**clean_environ(environ), **_OFFLINE, **named},
        timeout_seconds=timeout_seconds,
    )


def _find_git(environ: Mapping[str, str]) -> str:
    found = find_program("git", {"PATH": environ.get("PATH", os.defpath)})
    if found is None:
        raise FileNotFoundError("git")
    return found
