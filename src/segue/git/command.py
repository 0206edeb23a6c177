"""The only code that calls git: it names the repository, and lets nothing of it run unless it is trusted.

A repository can name programs in its configuration (hooks, filters, a file system monitor, a way to reach its remote)
and git runs them for every user of it. So all of that is switched off for a repository that was not created or trusted
on this machine, and only commands that read files, objects and references are used there.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segue import process

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segue.git.location import RepositoryLocation
    from segue.process import ProcessResult

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


# Who commits, which configuration is the user's, and where git is installed. Every other variable of git could name
# another repository or index, other rules for paths, or a program.
_PASSED_ON = {
    *(f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    "GIT_TEST_ASSUME_DIFFERENT_OWNER",
}
_NO_QUESTIONS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "LANGUAGE": "en",
}


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for git: what the user set for all programs, without the variables of an outer call of git."""
    passed = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _PASSED_ON}
    return passed | _NO_QUESTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Calls git in one repository."""

    location: RepositoryLocation
    environ: Mapping[str, str]
    timeout_seconds: float
    trusted: bool = False
    filters: frozenset[bytes] = frozenset()
    """Names of the filters that are switched off."""
    disabling: tuple[bytes, ...] = ()
    """The options that switch off filters and hooks of the configuration."""

    def run(self, *arguments: str | bytes, stdin: bytes = b"", index: Path | None = None) -> ProcessResult:
        """Raises OSError or ValueError if git cannot be started."""
        named = {"GIT_DIR": str(self.location.folder), "GIT_WORK_TREE": str(self.location.root)}
        if index is not None:
            named["GIT_INDEX_FILE"] = str(index)
        return self._run(*arguments, stdin=stdin, named=named)

    def discover(self) -> ProcessResult:
        """What git itself finds at the root; it refuses a repository of another user.

        This command alone does not name the repository: git checks the owner only when it searches for one.
        """
        named = {"GIT_CEILING_DIRECTORIES": str(self.location.root.parent)}
        return self._run("rev-parse", "--is-inside-work-tree", "--absolute-git-dir", named=named)

    def settings(self) -> list[tuple[bytes, bytes]]:
        """The names of all settings in effect, each with its scope: `system`, `global`, `local` or `worktree`.

        Raises ValueError if git cannot read them.
        """
        ended = self.run("config", "--null", "--show-scope", "--name-only", "--list")
        if ended.code != 0:
            raise ValueError("its settings cannot be read")
        fields = ended.output.split(b"\0")
        return [pair for pair in zip(fields[0::2], fields[1::2], strict=False) if pair[0] != b"command"]

    def with_filters_off(self) -> Git:
        """The same with every filter and hook of the configuration off; git has no option for all of them at once.

        Git may run a filter even for a file that is not ours, to check whether its index is up to date. Raises
        ValueError for a name that no option can express.
        """
        found = sorted({match.groups() for _, name in self.settings() if (match := _NAMED.fullmatch(name))})
        if unusable := [name for _, name in found if b"=" in name]:
            raise ValueError(f"it has a filter or a hook that cannot be switched off: {unusable[0]!r}")
        settings = [b"%s.%s.%s" % (kind, name, off) for kind, name in found for off in _OFF[kind]]
        filters = frozenset(name for kind, name in found if kind == b"filter")
        return replace(self, filters=filters, disabling=tuple(part for one in settings for part in (b"-c", one)))

    def _run(self, *arguments: str | bytes, stdin: bytes = b"", named: Mapping[str, str]) -> ProcessResult:
        closed: tuple[str | bytes, ...] = () if self.trusted else (*_CLOSED, *self.disabling)
        return process.run(
            [_find_git(self.environ), *_ALWAYS, *closed, *arguments],
            cwd=self.location.root,
            environ={**clean_environ(self.environ), **({} if self.trusted else _OFFLINE), **named},
            timeout_seconds=self.timeout_seconds,
            stdin=stdin,
        )


def make_repository(root: Path, environ: Mapping[str, str], *, timeout_seconds: float) -> ProcessResult:
    """Create a repository in this folder. No template is used: what it would copy into the repository may run there.

    Raises OSError if git cannot be started.
    """
    named = {"GIT_DIR": os.fspath(root / ".git"), "GIT_WORK_TREE": os.fspath(root)}
    return process.run(
        [_find_git(environ), *_ALWAYS, *_CLOSED, "init", "--quiet", "--template="],
        cwd=root,
        environ={**clean_environ(environ), **_OFFLINE, **named},
        timeout_seconds=timeout_seconds,
    )


def _find_git(environ: Mapping[str, str]) -> str:
    found = process.which("git", {"PATH": environ.get("PATH", os.defpath)})
    if found is None:
        raise FileNotFoundError("git")
    return found
