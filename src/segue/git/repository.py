"""One working tree: what is committed there, and what the user is shown."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.formats.terminal import one_line
from segue.git.checkout import Checkout
from segue.git.command import Git
from segue.git.commit import Commit, CommitResult
from segue.git.location import MARKER, find_location
from segue.git.output import RefusedError, explain_failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from segue.git.location import RepositoryLocation

TIMEOUT_SECONDS = 60.0
"""For one call of git, and for each hook of a repository: it may run a linter, but not wait for input."""
WAIT_SECONDS = 20.0
"""How long another git that holds the index or the branch is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One working tree, and the environment in which git runs there; with `trusted` its own hooks and filters run."""

    root: Path
    environ: Mapping[str, str]
    trusted: bool = False
    timeout_seconds: float = TIMEOUT_SECONDS
    wait_seconds: float = WAIT_SECONDS

    @property
    def location(self) -> RepositoryLocation | None:
        """None if there is no repository."""
        return find_location(self.root)

    def commit(self, paths: Iterable[Path | str], message: str, *, needed: Iterable[Path | str] = ()) -> CommitResult:
        """Commit these files, and the files in these folders, as they are on disk. Never raises for what git does.

        Files in `needed` are committed too if git does not have them. If one is ignored, a warning names the rule.
        """
        try:
            with _refusing():
                wanted = [self._relative(Path(path)) for path in paths]
                watched = [self._relative(Path(path)) for path in needed]
                return Commit(self._git(), self.wait_seconds).make(wanted, message, watched)
        except RefusedError as refused:
            hint = one_line(refused.hint)
            return CommitResult(status="failed", message=one_line(f"saved, but not committed: {refused}"), hint=hint)

    def uncommitted(self, path: Path | str) -> tuple[Path, ...]:
        """The files at or below a path that differ from the last commit; RefusedError if that cannot be determined."""
        with _refusing():
            names = Commit(self._git(), self.wait_seconds).uncommitted([self._relative(Path(path))])
            return tuple(self.root / os.fsdecode(name) for name in names)

    def head(self) -> tuple[str, str]:
        """The branch that is checked out (empty if none is) and its commit; RefusedError if there is no commit."""
        with _refusing():
            return Checkout(self._git()).head()

    def put_aside(self, paths: Iterable[Path | str], message: str) -> str:
        """Put the changes of these files, new ones too, into a stash; what was done, for the user."""
        with _refusing():
            return Checkout(self._git()).put_aside([self._relative(Path(path)) for path in paths], message)

    def return_to(self, branch: str, commit: str, name: str) -> list[str]:
        """Let the branch end at an earlier commit; later ones stay on another branch, whose name is made from `name`.

        Returns what was done, for the user; nothing if no commit was added. RefusedError if that is not possible.
        """
        with _refusing():
            return Checkout(self._git()).return_to(branch, commit, name)

    def _git(self) -> Git:
        location = self.location
        if location is None:
            is_gone = not self.root.is_dir()
            reason = "the folder is gone" if is_gone else f"{self.root / MARKER} is not a repository"
            raise RefusedError(reason, "run git status in a terminal")
        git = Git(location=location, environ=self.environ, timeout_seconds=self.timeout_seconds, trusted=self.trusted)
        ended = git.discover()
        if ended.code != 0:
            raise explain_failure(ended, self.root, self.timeout_seconds)
        is_tree, _, folder = os.fsdecode(ended.output).partition("\n")
        if is_tree != "true" or os.path.realpath(folder.removesuffix("\n")) != str(location.folder):
            raise RefusedError(f"git finds another repository at {self.root} than {location.folder}", "run git status")
        return git if self.trusted else git.with_filters_off()

    def _relative(self, path: Path) -> bytes:
        """The path as git names it; if its last part is a link, the link is committed."""
        whole = self.root / path
        whole = Path(os.path.realpath(whole.parent), whole.name)
        if not whole.is_relative_to(self.root):
            raise RefusedError(f"{path} is not inside {self.root}", "commit it in its own repository")
        return os.fsencode(whole.relative_to(self.root))


def find_repository(
    path: Path | str,
    *,
    environ: Mapping[str, str],
    trusted: bool = False,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Repository | None:
    """The nearest repository at or above the path. Runs nothing: `commit` reports what is wrong with it."""
    start = Path(os.path.realpath(path))
    for folder in (start, *start.parents):
        if os.path.lexists(folder / MARKER):
            return Repository(root=folder, environ=environ, trusted=trusted, timeout_seconds=timeout_seconds)
    return None


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what prevents git from working into the reason why there is no commit."""
    try:
        yield
    except FileNotFoundError:
        raise RefusedError("there is no git on the PATH, or the folder is gone", "install git") from None
    except (OSError, ValueError, SegueError) as error:  # a ValueError is an unusable path or filter name
        raise RefusedError(f"git cannot be used here: {error}", "run git status in a terminal") from None
