"""The hooks of a trusted repository, run as git itself runs them for a commit."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from segue import process
from segue.git.command import clean_environ
from segue.git.output import RefusedError, refusal_by_hook

if TYPE_CHECKING:
    from pathlib import Path

    from segue.durable.folder import Folder
    from segue.git.command import Git
    from segue.process import ProcessResult

OF_A_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_LONGEST_MESSAGE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The hooks in a folder, and the index that they see instead of the user's."""

    git: Git
    folder: Path
    index: Path

    def check_files(self) -> None:
        self._must(self._run("pre-commit"))

    def edited(self, message: bytes, scratch: Folder) -> bytes:
        """The message after the two hooks that may edit it; they get it as a file."""
        if not any(self._find(name) for name in ("prepare-commit-msg", "commit-msg")):
            return message
        fd, name = scratch.begin(message, "message")
        scratch.close(fd)
        try:
            self._must(self._run("prepare-commit-msg", scratch.path_of(name), "message"))
            self._must(self._run("commit-msg", scratch.path_of(name)))
            return scratch.read(name)[:_LONGEST_MESSAGE_BYTES]
        finally:
            scratch.discard(name)

    def run_after_commit(self) -> bool:
        """Run the hook after the commit, which cannot undo it; whether it ended in time."""
        ended = self._run("post-commit")
        return ended is None or ended.code is not None

    def _must(self, ended: ProcessResult | None) -> None:
        if ended is not None and ended.code != 0:
            raise refusal_by_hook(ended, self.git.timeout_seconds)

    def _find(self, name: str) -> Path | None:
        hook = self.folder / name
        return hook if hook.is_file() and os.access(hook, os.X_OK) else None

    def _run(self, name: str, *arguments: str) -> ProcessResult | None:
        hook = self._find(name)
        if hook is None:
            return None
        location = self.git.location
        # Git names the repository only in a worktree or a submodule.
        named = {} if location.folder == location.root / ".git" else {"GIT_DIR": str(location.folder)}
        environ = clean_environ(self.git.environ) | {"GIT_INDEX_FILE": str(self.index), "GIT_PREFIX": ""} | named
        try:
            return self._start([str(hook), *arguments], environ)
        except OSError as error:
            if error.errno == errno.ENOEXEC:  # a script without an interpreter line
                return self._start(["sh", str(hook), *arguments], environ)
            raise RefusedError(f"the hook {name} cannot be started: {error}", "fix it, then commit again") from None

    def _start(self, argv: list[str], environ: dict[str, str]) -> ProcessResult:
        root, seconds = self.git.location.root, self.git.timeout_seconds
        return process.run(argv, cwd=root, environ=environ, timeout_seconds=seconds)


def find_hooks(git: Git, index: Path) -> Hooks | None:
    """The hooks to run; None where the repository is not trusted."""
    if not git.trusted:
        return None
    path = os.fsdecode(git.run("rev-parse", "--git-path", "hooks").output).removesuffix("\n")
    return Hooks(git=git, folder=git.location.root / path, index=index)


def has_hooks(folder: Path) -> bool:
    return any((folder / name).is_file() and os.access(folder / name, os.X_OK) for name in OF_A_COMMIT)
