"""The commit of a story: what its agent changed, and nothing that the user had not committed before.

What a file looked like when the run began says whose it is. What a run leaves uncommitted is recorded in its session,
so that the next one knows it again as the agent's.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from segue.errors import UsageError
from segue.formats.terminal import one_line
from segue.git import RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from segue.git import Repository

MOST_FILES = 5000
"""That may be uncommitted when a run begins: each of them is read."""
_SHOWN = 5


class StoryCommits:
    """`plan` are the files and folders of the change, which are always committed: the agent ticks its tasks there."""

    def __init__(self, repository: Repository, *, project: str, plan: Collection[str]) -> None:
        self._repository = repository
        self._project = project
        self._plan = plan
        self._theirs: dict[str, str] = {}

    def begin(self, left: object) -> str:
        """Remember what is the user's: all that is uncommitted now, but what an earlier run `left`; in words."""
        known = left if isinstance(left, dict) else {}
        try:
            found = self._uncommitted()
        except RefusedError as refused:
            raise UsageError(f"nothing can be committed: {refused}", hint=refused.hint) from None
        if len(found) > MOST_FILES:
            raise UsageError(
                f"{len(found)} files are not committed, and nobody could tell them from those of the agent",
                hint="commit them, or let .gitignore name them; or leave out --commit",
            )
        marks = _marks([path for path in found if not self._is_plan(path)])
        self._theirs = {path: mark for path, mark in marks.items() if known.get(path) != mark}
        return f"not committed before, and left alone: {_listed(self._theirs)}" if self._theirs else ""

    def commit(self, message: str) -> str:
        """What became of it, in words; nothing if there was nothing to do."""
        try:
            found = self._uncommitted()
        except RefusedError as refused:
            return one_line(f"saved, but not committed: {refused}; {refused.hint}")
        wanted = [path for path in found if path not in self._theirs]
        mixed = [path for path in found if path in self._theirs and _mark(path) != self._theirs[path]]
        outcome = self._repository.commit(wanted, message) if wanted else None
        words: list[str] = []
        if outcome is not None and outcome.status != "nothing":
            words = [outcome.message, *([outcome.hint] if outcome.status == "failed" and outcome.hint else [])]
        if mixed:
            words.append(f"left out, since they had changes of yours: {_listed(mixed)}")
        return "; ".join(words)

    def left(self) -> Mapping[str, str]:
        """What the agent has changed and nobody has committed yet."""
        try:
            found = self._uncommitted()
        except RefusedError:
            return {}
        return _marks([path for path in found if path not in self._theirs])

    def _uncommitted(self) -> list[str]:
        return [os.fspath(path) for path in self._repository.uncommitted(self._project)]

    def _is_plan(self, path: str) -> bool:
        return any(path == place or path.startswith(f"{place}/") for place in self._plan)


def _marks(paths: Collection[str]) -> dict[str, str]:
    return {path: _mark(path) for path in paths}


def _mark(path: str) -> str:
    """What a file is now: its kind, whether it can be run, and its content."""
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


def _listed(paths: Collection[str]) -> str:
    names = [os.path.basename(path) for path in paths]  # noqa: PTH119 - as git names it
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return one_line(f"{', '.join(names[:_SHOWN])}{more}")
