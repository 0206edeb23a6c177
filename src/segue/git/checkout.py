"""Returns a working tree to an earlier state without losing anything: files go to a stash, commits to a branch."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from segue.formats.terminal import one_line
from segue.git.output import RefusedError, explain_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.git.command import Git

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9/]+")


class Checkout:
    """What is checked out in a repository that is trusted: git runs its filters and hooks here."""

    def __init__(self, git: Git) -> None:
        if not git.trusted:
            raise RefusedError("this repository is not trusted", "change its files yourself")
        self._git = git

    def head(self) -> tuple[str, str]:
        """The branch, empty if HEAD is detached, and the commit."""
        branch = self._git.run("symbolic-ref", "--quiet", "HEAD").output.decode("utf-8", "replace").strip()
        if self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").code != 0:
            raise RefusedError("there is no commit yet", "commit something first")
        return branch, self._output("rev-parse", "--verify", "HEAD^{commit}")

    def put_aside(self, names: Sequence[bytes], message: str) -> str:
        before = self._stash()
        self._output(
            *("stash", "push", "--quiet", "--include-untracked", "--message", one_line(message)),
            *("--pathspec-from-file=-", "--pathspec-file-nul"),
            stdin=b"".join(name + b"\0" for name in names),
        )
        if (now := self._stash()) == before:
            raise RefusedError(f"{os.fsdecode(names[0])} could not be put into a stash", "run git status")
        return f"its changes are in the stash {now[:10]} ({one_line(message)})"

    def return_to(self, branch: str, commit: str, name: str) -> list[str]:
        now_branch, now_commit = self.head()
        if now_branch != branch:
            raise RefusedError(f"{now_branch or 'no branch'} is checked out now", f"git switch {_short(branch)}")
        if now_commit == commit:
            return []
        kept = f"{_NOT_IN_NAMES.sub('-', name).strip('-/')}-{now_commit[:7]}"
        self._output("branch", "--force", kept, now_commit)
        self._output("reset", "--quiet", "--keep", commit)
        return [f"its commits are on the branch {kept}"]

    def _stash(self) -> str:
        """The newest stash; empty if there is none."""
        return self._git.run("rev-parse", "--verify", "--quiet", "refs/stash").output.decode().strip()

    def _output(self, *arguments: str, stdin: bytes = b"") -> str:
        ended = self._git.run(*arguments, stdin=stdin)
        if ended.code != 0:
            raise explain_failure(ended, self._git.location.root, self._git.timeout_seconds)
        return ended.output.decode("utf-8", "replace").strip()


def _short(branch: str) -> str:
    return branch.removeprefix("refs/heads/") or "--detach"
