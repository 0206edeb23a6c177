"""The commit of a story: what its agent changed, without the changes that the user had not committed before.

It is the checkpoint of the next story: on request, what a failed attempt changed since is put aside.

A fingerprint of each uncommitted file at the start of a run tells the user's changes from the agent's. What a run
leaves uncommitted is recorded in its session, so that the next run still knows it as the agent's.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from segue.errors import UsageError
from segue.formats.store_url import folder_of
from segue.formats.terminal import one_line
from segue.git import RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from segue.git import Repository

MOST_FILES = 5000
"""How many files may be uncommitted when a run starts: each of them is read."""
_SHOWN = 5


class StoryCommits:
    """`plan` names the files and folders of the change. They are always committed: the agent ticks its tasks there."""

    def __init__(
        self,
        repository: Repository,
        *,
        project: str,
        plan: Collection[str],
        store: str = "",
        resets: bool = False,
    ) -> None:
        """With `resets` attempts can be put aside; the files of `store`, the URL of the library, are not."""
        self._repository = repository
        self._project = project
        self._plan = plan
        folder = folder_of(store)
        self._store = os.path.realpath(folder) if folder else ""
        self._resets = resets
        self._checkpoint: tuple[str, str] | None = None
        self._users_files: dict[str, str] = {}

    def begin(self, left: object) -> str:
        """Remember the user's files: all that is uncommitted now, except what an earlier run `left`; a notice."""
        agents_files = left if isinstance(left, dict) else {}
        try:
            found = self._uncommitted()
        except RefusedError as refused:
            raise UsageError(f"nothing can be committed: {refused}", hint=refused.hint) from None
        if len(found) > MOST_FILES:
            raise UsageError(
                f"{len(found)} files are not committed: too many to tell them from the files of the agent",
                hint="commit them, add them to .gitignore, or omit --commit",
            )
        fingerprints = _fingerprints([path for path in found if not self._is_plan(path)])
        self._users_files = {
            path: fingerprint for path, fingerprint in fingerprints.items() if agents_files.get(path) != fingerprint
        }
        if self._resets and self._users_files:
            raise UsageError(
                f"--reset would put aside changes of yours: {_format_names(self._users_files)}",
                hint="commit them, or omit --reset",
            )
        return (
            f"uncommitted changes of yours stay uncommitted: {_format_names(self._users_files)}"
            if self._users_files
            else ""
        )

    def commit(self, message: str) -> str:
        """Commit the agent's files; the result for the user, empty if there was nothing to commit."""
        try:
            found = self._uncommitted()
        except RefusedError as refused:
            return one_line(f"saved, but not committed: {refused}; {refused.hint}")
        wanted = [path for path in found if path not in self._users_files]
        mixed = [path for path in found if path in self._users_files and _fingerprint(path) != self._users_files[path]]
        outcome = self._repository.commit(wanted, message) if wanted else None
        parts: list[str] = []
        if outcome is not None and outcome.status != "nothing":
            parts = [outcome.message, *([outcome.hint] if outcome.status == "failed" and outcome.hint else [])]
        if mixed:
            parts.append(f"not committed, since they also have changes of yours: {_format_names(mixed)}")
        return "; ".join(parts)

    def begin_story(self) -> None:
        """Remember what is checked out: `reset` returns to it."""
        if self._resets:
            try:
                self._checkpoint = self._repository.head()
            except RefusedError as refused:
                raise UsageError(f"--reset is not possible: {refused}", hint=refused.hint) from None

    def reset(self, what: str) -> str:
        """Put aside what changed since the story began, the plan excepted; what was done, for the user.

        Nothing is lost: files are put into a stash, and commits of the agent stay on a branch.
        """
        assert self._checkpoint is not None  # noqa: S101 - begin_story was called
        branch, commit = self._checkpoint
        try:
            names = [path for path in self._uncommitted() if not self._is_plan(path) and not self._is_store(path)]
            done = [self._repository.put_aside(names, f"ralphtool: {what}")] if names else []
            done += self._repository.return_to(branch, commit, f"ralphtool/{what}")
        except RefusedError as refused:
            return one_line(f"not reset: {refused}; {refused.hint}")
        return one_line(f"reset to {commit[:10]}: {'; '.join(done) or 'nothing had changed'}")

    def left(self) -> Mapping[str, str]:
        """The files that the agent changed and that are not committed yet, with their fingerprints."""
        try:
            found = self._uncommitted()
        except RefusedError:
            return {}
        return _fingerprints([path for path in found if path not in self._users_files])

    def _uncommitted(self) -> list[str]:
        return [os.fspath(path) for path in self._repository.uncommitted(self._project)]

    def _is_store(self, path: str) -> bool:
        return bool(self._store) and (path == self._store or path.startswith(f"{self._store}/"))

    def _is_plan(self, path: str) -> bool:
        return any(path == place or path.startswith(f"{place}/") for place in self._plan)


def _fingerprints(paths: Collection[str]) -> dict[str, str]:
    return {path: _fingerprint(path) for path in paths}


def _fingerprint(path: str) -> str:
    """The kind of a file, whether it is executable, and its content."""
    try:
        found = os.lstat(path)
        kind = f"{stat.S_IFMT(found.st_mode):o} {found.st_mode & stat.S_IXUSR:o}"
        if stat.S_ISLNK(found.st_mode):
            return f"{kind} {os.readlink(path)}"  # noqa: PTH115 - as git names it
        if not stat.S_ISREG(found.st_mode):
            return kind
        with open(path, "rb") as file:  # noqa: PTH123 - as git names it
            return f"{kind} {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except FileNotFoundError:
        return "gone"
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _format_names(paths: Collection[str]) -> str:
    names = [os.path.basename(path) for path in paths]  # noqa: PTH119 - as git names it
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return one_line(f"{', '.join(names[:_SHOWN])}{more}")
