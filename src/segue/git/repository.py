"""One working tree: what is committed there, and what the user is told."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from segue.formats.terminal import one_line, printable
from segue.git.answers import RefusedError, State, explained, read_status, shown
from segue.git.process import Ended, run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

TIMEOUT_SECONDS = 60.0
"""For one call of git, and so for the hooks of a repository: they may run a linter, but wait for nobody."""

_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of a commit."""

    status: Literal["committed", "nothing", "failed"]
    words: str
    """What to tell the user, on one line."""
    commit: str = ""
    """The whole hash; empty unless something was committed."""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One working tree, and the environment in which git is run there."""

    root: Path
    environ: Mapping[str, str]
    timeout_seconds: float = TIMEOUT_SECONDS

    def commit(self, paths: Iterable[Path | str], message: str) -> Outcome:
        """Commit these files and what is in these folders, as it is on the disk now. Never raises for what git does."""
        try:
            return self._commit([self._relative(Path(path)) for path in paths], message)
        except RefusedError as refused:
            return Outcome(
                status="failed", words=one_line(f"saved, but not committed: {refused}"), hint=one_line(refused.hint)
            )

    def uncommitted(self, path: Path | str) -> tuple[Path, ...]:
        """The files at or below a path that the last commit does not have as they are; RefusedError if unknown."""
        return tuple(self.root / os.fsdecode(name) for name in self._look([self._relative(Path(path))]).changed)

    def _commit(self, paths: Sequence[bytes], message: str) -> Outcome:
        self._refuse_unfinished()
        state = self._look(paths)
        if state.unmerged:
            raise RefusedError(f"{shown(state.unmerged)} has conflicts", "resolve them, then git add what you resolved")
        wanted = [path for path in paths if any(_covers(path, name) for name in state.changed)]
        if not wanted:
            if state.ignored and not self._git("ls-files", "-z", "--", *paths).output:
                raise RefusedError(
                    f"git ignores {shown(state.ignored)}",
                    "git check-ignore -v PATH says which rule does; take it out of .gitignore",
                )
            return Outcome(status="nothing", words="nothing to commit: git has it all")
        ended = None
        try:
            self._announce(state.untracked)
            ended = self._git(
                *("commit", "--only", "--quiet", "--allow-empty-message", "--cleanup=verbatim", "--file=-", "--"),
                *wanted,
                given=f"{printable(message)}\n".encode(),
            )
        finally:
            # Whoever is stopped in a hook that runs after the commit has committed.
            is_made = (ended is not None and ended.code == 0) or self._has_moved_on(state, wanted)
            if not is_made:
                self._withdraw(state.untracked)
        if not is_made:
            raise self._explained(ended)
        commit = self._git("rev-parse", "--verify", "HEAD").output.decode().strip()
        return _told(commit, state, in_time=ended.code is not None)

    def _refuse_unfinished(self) -> None:
        ended = self._git("rev-parse", "--is-inside-work-tree", "--absolute-git-dir")
        if ended.code != 0:
            raise self._explained(ended)
        is_tree, _, folder = os.fsdecode(ended.output).partition("\n")
        if is_tree != "true":
            raise RefusedError(f"{self.root} is a bare repository, which has no files", "use a clone of it")
        for name, what in _UNFINISHED.items():
            if os.path.lexists(Path(folder.removesuffix("\n"), name)):
                raise RefusedError(
                    f"a {what} is going on, and a commit now would become part of it",
                    f"finish it (git {what} --continue) or give it up (git {what} --abort)",
                )

    def _look(self, paths: Sequence[bytes]) -> State:
        ended = self._git(
            *("status", "--porcelain=v2", "--branch", "-z", "--no-renames"),
            *("--untracked-files=all", "--ignored=matching", "--"),
            *paths,
        )
        if ended.code != 0:
            raise self._explained(ended)
        return read_status(ended.output)

    def _announce(self, names: Collection[bytes]) -> None:
        """Make new files known to the index without their content: only what it knows can be committed by path."""
        if names:
            given = b"".join(name + b"\0" for name in names)
            ended = self._git("add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul", given=given)
            if ended.code != 0:
                raise self._explained(ended)

    def _withdraw(self, names: Collection[bytes]) -> None:
        """The index as the user had it; if even that fails, the files are shown as new, which they are."""
        if names:
            with suppress(RefusedError):
                self._git(
                    *("update-index", "--force-remove", "-z", "--stdin"), given=b"".join(name + b"\0" for name in names)
                )

    def _has_moved_on(self, before: State, paths: Sequence[bytes]) -> bool:
        """Whether a commit with our files is there, however git ended."""
        with suppress(RefusedError):
            after = self._look(paths)
            return after.head != before.head and not after.changed
        return False

    def _explained(self, ended: Ended) -> RefusedError:
        return explained(ended, self.root, self.timeout_seconds)

    def _relative(self, path: Path) -> bytes:
        """As git names it; the last part may be a link, and is then committed as one."""
        whole = self.root / path
        whole = Path(os.path.realpath(whole.parent), whole.name)
        if not whole.is_relative_to(self.root):
            raise RefusedError(f"{path} is not inside {self.root}", "commit it where it belongs")
        return os.fsencode(whole.relative_to(self.root))

    def _git(self, *arguments: str | bytes, given: bytes | None = None) -> Ended:
        try:
            return run(
                *arguments, root=self.root, environ=self.environ, timeout_seconds=self.timeout_seconds, given=given
            )
        except FileNotFoundError:
            raise RefusedError("there is no git on the PATH, or the folder is gone", "install git") from None
        except (OSError, ValueError) as error:  # a ValueError is a NUL in a path
            raise RefusedError(f"git cannot be started: {error}", "check the installation of git") from None


def find_repository(
    path: Path | str, *, environ: Mapping[str, str], timeout_seconds: float = TIMEOUT_SECONDS
) -> Repository | None:
    """The nearest repository at or above the path. Runs nothing: what is wrong with it, `commit` will say."""
    start = Path(os.path.realpath(path))
    for folder in (start, *start.parents):
        is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
        if is_bare or os.path.lexists(folder / ".git"):
            return Repository(root=folder, environ=environ, timeout_seconds=timeout_seconds)
    return None


def _told(commit: str, state: State, *, in_time: bool) -> Outcome:
    where = f"on {state.branch}" if state.branch else "on no branch (HEAD is detached)"
    late = "" if in_time else "; a hook that ran after it did not end, and was stopped"
    hints = [] if state.branch else ["git switch -c NAME keeps it on a branch"]
    if state.ignored:
        hints.append(f"left out, since git ignores it: {shown(state.ignored)}")
    return Outcome(
        status="committed",
        commit=commit,
        words=one_line(f"committed {commit[:10]} {where}{late}"),
        hint=one_line("; ".join(hints)),
    )


def _covers(path: bytes, name: bytes) -> bool:
    return path in {b".", name} or name.startswith(path + b"/")
