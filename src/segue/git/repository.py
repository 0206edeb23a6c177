"""One working tree: what is committed there, and what the user is told."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.formats.terminal import one_line
from segue.git.command import Git
from segue.git.commit import Commit, CommitResult
from segue.git.location import MARKER, find_location
from segue.git.output import RefusedError, explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from segue.git.location import RepositoryLocation

TIMEOUT_SECONDS = 60.0
"""For one call of git, and for each hook of a repository: they may run a linter, but wait for nobody."""
WAIT_SECONDS = 20.0
"""For another git that holds the index or the branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One working tree, and the environment in which git is run there; `trusted` lets it run what it names."""

    root: Path
    environ: Mapping[str, str]
    trusted: bool = False
    timeout_seconds: float = TIMEOUT_SECONDS
    wait_seconds: float = WAIT_SECONDS

    @property
    def place(self) -> RepositoryLocation | None:
        """None if what is there is no repository."""
        return find_location(self.root)

    def commit(self, paths: Iterable[Path | str], message: str, *, needed: Iterable[Path | str] = ()) -> CommitResult:
        """Commit these files and what is in these folders, as it is on the disk now. Never raises for what git does.

        What is `needed` is committed with them if git does not have it. If it is ignored, a warning says by which rule.
        """
        try:
            with _refusing():
                wanted = [self._relative(Path(path)) for path in paths]
                watched = [self._relative(Path(path)) for path in needed]
                return Commit(self._git(), self.wait_seconds).make(wanted, message, watched)
        except RefusedError as refused:
            hint = one_line(refused.hint)
            return CommitResult(status="failed", words=one_line(f"saved, but not committed: {refused}"), hint=hint)

    def uncommitted(self, path: Path | str) -> tuple[Path, ...]:
        """The files at or below a path that the last commit does not have as they are; RefusedError if unknown."""
        with _refusing():
            names = Commit(self._git(), self.wait_seconds).uncommitted([self._relative(Path(path))])
            return tuple(self.root / os.fsdecode(name) for name in names)

    def _git(self) -> Git:
        place = self.place
        if place is None:
            is_gone = not self.root.is_dir()
            reason = "the folder is gone" if is_gone else f"{self.root / MARKER} leads to no repository"
            raise RefusedError(reason, "run git status in a terminal")
        git = Git(place=place, environ=self.environ, timeout_seconds=self.timeout_seconds, trusted=self.trusted)
        ended = git.discover()
        if ended.code != 0:
            raise explained(ended, self.root, self.timeout_seconds)
        is_tree, _, folder = os.fsdecode(ended.output).partition("\n")
        if is_tree != "true" or os.path.realpath(folder.removesuffix("\n")) != str(place.folder):
            raise RefusedError(f"git finds another repository at {self.root} than {place.folder}", "run git status")
        return git if self.trusted else git.silent()

    def _relative(self, path: Path) -> bytes:
        """As git names it; the last part may be a link, and is then committed as one."""
        whole = self.root / path
        whole = Path(os.path.realpath(whole.parent), whole.name)
        if not whole.is_relative_to(self.root):
            raise RefusedError(f"{path} is not inside {self.root}", "commit it where it belongs")
        return os.fsencode(whole.relative_to(self.root))


def find_repository(
    path: Path | str,
    *,
    environ: Mapping[str, str],
    trusted: bool = False,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Repository | None:
    """The nearest repository at or above the path. Runs nothing: what is wrong with it, `commit` will say."""
    start = Path(os.path.realpath(path))
    for folder in (start, *start.parents):
        if os.path.lexists(folder / MARKER):
            return Repository(root=folder, environ=environ, trusted=trusted, timeout_seconds=timeout_seconds)
    return None


@contextmanager
def _refusing() -> Iterator[None]:
    """Whatever keeps git from its work is a reason why there is no commit."""
    try:
        yield
    except FileNotFoundError:
        raise RefusedError("there is no git on the PATH, or the folder is gone", "install git") from None
    except (OSError, ValueError, SegueError) as error:  # a ValueError is an odd path, or an odd filter
        raise RefusedError(f"git cannot be used here: {error}", "run git status in a terminal") from None
