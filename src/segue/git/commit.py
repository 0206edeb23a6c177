"""One commit of our files, built beside the index of the user, in a copy.

So nothing that is staged gets into it, and a hook may take its time. The user's index is locked only for the moment in
which the branch moves and our files become known to it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from segue.formats.terminal import one_line, printable
from segue.git.hooks import find_hooks, has_hooks
from segue.git.index import GitIndex
from segue.git.output import Change, RefusedError, explained, read_changes, read_tagged, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.git.command import Git
    from segue.git.process import GitResult

_TICK_SECONDS = 0.05
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


class CommitResult(Struct, frozen=True, kw_only=True):
    """What came of a commit."""

    status: Literal["committed", "nothing", "failed"]
    words: str
    """What to tell the user, on one line."""
    commit: str = ""
    """The whole hash; empty unless something was committed."""
    hint: str = ""
    warnings: tuple[str, ...] = ()
    """What is not as the user will expect it, although nothing failed."""
    is_closed: bool = False
    """Whether hooks of the repository did not run, since it is not trusted here."""


class _Files(NamedTuple):
    """What git says of our paths: names of files, relative to the root."""

    known: set[bytes]
    """In the last commit, or staged."""
    new: set[bytes]
    staged: set[bytes]
    """Known, but in no commit yet."""


class Commit:
    """One commit in the making."""

    def __init__(self, git: Git, wait_seconds: float) -> None:
        self._git = git
        self._index = GitIndex(git.place.folder)
        self._wait_seconds = wait_seconds

    def make(self, paths: Sequence[bytes], message: str, watched: Sequence[bytes]) -> CommitResult:
        self._refuse_unfinished()
        with self._index.copied() as copy:
            head = self._head()
            self._start_from(head, copy)
            files = self._look(paths, copy)
            missing = self._look(watched, copy).new  # from a commit that failed
            self._stage(sorted(files.known | files.new | missing), copy)
            warnings = self._warn_of_ignored(watched, copy)
            changes = self._changes(head, copy)
            if not changes:
                if not files.known:
                    self._refuse_ignored(paths)
                return CommitResult(status="nothing", words="nothing to commit: git has it all", warnings=warnings)
            hooks = find_hooks(self._git, copy)
            text = f"{printable(message)}\n".encode()
            if hooks is not None:
                hooks.check_files()
                changes = self._changes(head, copy)
                text = hooks.edited(text, self._index.folder)
            commit, branch = self._publish(changes, text, head, copy)
            in_time = hooks is None or hooks.has_told_everyone()
        if self._git.trusted:
            self._git.run("gc", "--auto", "--quiet")
        return self._told(commit, branch, warnings, in_time=in_time)

    def uncommitted(self, paths: Sequence[bytes]) -> list[bytes]:
        """The files among these that are not on the disk as the last commit has them; those that are new come last."""
        with self._index.copied() as copy:
            head = self._head()
            self._start_from(head, copy)
            files = self._look(paths, copy)
            changed = files.staged | (self._changed(paths, head, copy) if head else set())
            return [*sorted(changed), *sorted(files.new - changed)]

    def _changed(self, paths: Sequence[bytes], head: str, copy: Path) -> set[bytes]:
        self._git.run("update-index", "-q", "--refresh", index=copy)  # or whatever was touched counts as changed
        options = ("--name-only", "-z", "--no-renames", "--ignore-submodules=none")
        return set(self._said("diff-index", *options, head, "--", *paths, index=copy).split(b"\0")[:-1])

    # ── What there is ────────────────────────────────────────────────────────────────────────────────────────────────

    def _refuse_unfinished(self) -> None:
        for name, what in _UNFINISHED.items():
            if os.path.lexists(self._git.place.folder / name):
                raise RefusedError(
                    f"a {what} is going on, and a commit now would become part of it",
                    f"finish it (git {what} --continue) or give it up (git {what} --abort)",
                )

    def _head(self) -> str:
        """The commit that is checked out; empty before the first."""
        ended = self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if ended.code == 0:
            return ended.output.decode().strip()
        if self._branch():  # which has no commit yet
            return ""
        raise self._explained(self._git.run("rev-parse", "--verify", "HEAD^{commit}"))

    def _branch(self) -> str:
        """Empty while none is checked out."""
        ended = self._git.run("symbolic-ref", "--quiet", "HEAD")
        return ended.output.decode("utf-8", "replace").strip() if ended.code == 0 else ""

    def _look(self, paths: Sequence[bytes], copy: Path) -> _Files:
        if not paths:
            return _Files(set(), set(), set())
        staged = read_tagged(self._said("ls-files", "-t", "-z", "--cached", "--", *paths))
        if unmerged := sorted(staged.get(b"M", ())):
            raise RefusedError(f"{shown(unmerged)} has conflicts", "resolve them, then git add what you resolved")
        everything = ("--cached", "--others", "--exclude-standard")
        found = read_tagged(self._said("ls-files", "-t", "-z", *everything, "--", *paths, index=copy))
        committed = found.get(b"H", set())
        added = staged.get(b"H", set()) - committed
        new = {name for name in found.get(b"?", ()) if not name.endswith(b"/")}  # which would be a repository within
        known = (committed | added) - staged.get(b"S", set())  # what a sparse checkout leaves out is not deleted
        return _Files(known, new, added)

    def _refuse_ignored(self, paths: Sequence[bytes]) -> None:
        if not paths:
            return
        options = ("--others", "--ignored", "--exclude-standard")
        ignored = self._said("ls-files", "-z", *options, "--", *paths).split(b"\0")[:-1]
        if ignored:
            raise RefusedError(
                f"git ignores {shown(ignored)} ({self._rule(ignored[0])})",
                "take that line out of .gitignore, or leave git alone with commit = false",
            )

    def _warn_of_ignored(self, names: Sequence[bytes], copy: Path) -> tuple[str, ...]:
        """Of those that git does not have and a rule leaves out: the first for each rule."""
        if not names:
            return ()
        options = ("--others", "--ignored", "--exclude-standard")
        ignored = self._said("ls-files", "-z", *options, "--", *names, index=copy).split(b"\0")[:-1]
        found: dict[str, bytes] = {}
        for name in sorted(ignored, key=lambda name: names.index(name) if name in names else len(names)):
            found.setdefault(self._rule(name), name)
        words = "git ignores {}, so that is saved but not committed ({})"
        return tuple(one_line(words.format(os.fsdecode(name), rule)) for rule, name in found.items())

    def _rule(self, name: bytes) -> str:
        """Where it is written that a file is ignored: file, line and pattern."""
        # This command knows no literal names; one that begins with a dot and a slash is taken as one.
        words = ("--no-literal-pathspecs", "check-ignore", "-v", "-z", "--stdin")
        source, line, pattern, *_ = [*self._git.run(*words, given=b"./" + name + b"\0").output.split(b"\0"), b"", b""]
        return f"{os.fsdecode(source)} line {os.fsdecode(line)}: {os.fsdecode(pattern)}" if line else "by a rule of git"

    # ── The commit, beside the index of the user ─────────────────────────────────────────────────────────────────────

    def _start_from(self, head: str, copy: Path) -> None:
        what = ("--reset", "-i", head) if head else ("--empty",)
        self._said("read-tree", *what, index=copy)

    def _stage(self, names: Sequence[bytes], copy: Path) -> None:
        if not self._git.trusted:
            self._refuse_filters(names)
        given = b"".join(name + b"\0" for name in names)
        self._said("update-index", "--add", "--remove", "--replace", "-z", "--stdin", given=given, index=copy)

    def _refuse_filters(self, names: Sequence[bytes]) -> None:
        """A file that is to be encrypted must not be committed as it is because its filter may not run."""
        if not self._git.filters:
            return
        given = b"".join(name + b"\0" for name in names)
        fields = self._said("check-attr", "-z", "--stdin", "filter", given=given).split(b"\0")
        for name, value in zip(fields[0::3], fields[2::3], strict=False):
            if value in self._git.filters:
                raise RefusedError(
                    f"{os.fsdecode(name)} goes through the filter {os.fsdecode(value)!r}, and this repository is not"
                    " trusted here to run one",
                    "trust it, or commit it yourself",
                )

    def _changes(self, head: str, copy: Path) -> tuple[Change, ...]:
        base = head or self._said("hash-object", "-t", "tree", "/dev/null").decode().strip()
        options = ("--cached", "--raw", "-r", "-z", "--no-renames", "--full-index", "--ignore-submodules=none")
        return read_changes(self._said("diff-index", *options, base, index=copy))

    # ── The moment in which the branch moves ─────────────────────────────────────────────────────────────────────────

    def _publish(self, changes: Sequence[Change], message: bytes, head: str, copy: Path) -> tuple[str, str]:
        """Put the changes on top of whatever is checked out by now: the new commit, and its branch."""
        deadline = time.monotonic() + self._wait_seconds
        lines = b"".join(change.line for change in changes)
        while True:
            with self._index.locked(self._wait_seconds):
                self._refuse_unfinished()
                if (now := self._head()) != head:  # somebody else has committed
                    head = now
                    self._start_from(head, copy)
                    self._said("update-index", "-z", "--index-info", given=lines, index=copy)
                commit = self._write_commit(message, head, copy)
                with self._index.copied() as next_index:
                    self._said("update-index", "-z", "--index-info", given=lines, index=next_index)
                    branch = self._branch()
                    ended = self._move(commit, head, next_index)
            if ended is None:
                return commit, branch
            is_passing = "but expected" in ended.errors or "File exists" in ended.errors  # it moved, or is locked
            if time.monotonic() > deadline or not is_passing:
                raise self._explained(ended)
            time.sleep(_TICK_SECONDS)

    def _write_commit(self, message: bytes, head: str, copy: Path) -> str:
        # What a partial clone has not fetched is as good as what it has.
        tree = self._said("write-tree", "--missing-ok", index=copy).decode().strip()
        parents = ("-p", head) if head else ()
        is_signed = self._git.run("config", "--type=bool", "commit.gpgSign").output.strip() == b"true"
        sign = ("-S",) if is_signed and self._git.trusted else ()
        return self._said("commit-tree", *sign, *parents, tree, given=message).decode().strip()

    def _move(self, commit: str, head: str, next_index: Path) -> GitResult | None:
        """Let the branch be at the commit, and the index know it; what git said if it would not."""
        kind = "commit" if head else "commit (initial)"  # no word of the message: others see what a program is told
        ended = None
        try:
            ended = self._git.run("update-ref", "-m", kind, "HEAD", commit, head or "0" * len(commit))
        finally:  # whoever is interrupted in this moment has committed, or has not
            is_there = (ended is not None and ended.code == 0) or self._head() == commit
            if is_there:
                self._index.put(next_index)
        return None if is_there else ended

    # ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _said(self, *arguments: str | bytes, given: bytes | None = None, index: Path | None = None) -> bytes:
        ended = self._git.run(*arguments, given=given, index=index)
        if ended.code != 0:
            raise self._explained(ended)
        return ended.output

    def _explained(self, ended: GitResult) -> RefusedError:
        return explained(ended, self._git.place.root, self._git.timeout_seconds)

    def _told(self, commit: str, branch: str, warnings: tuple[str, ...], *, in_time: bool) -> CommitResult:
        where = f"on {branch.removeprefix('refs/heads/')}" if branch else "on no branch (HEAD is detached)"
        late = "" if in_time else "; a hook that ran after it did not end, and was stopped"
        return CommitResult(
            status="committed",
            commit=commit,
            words=one_line(f"committed {commit[:10]} {where}{late}"),
            hint="" if branch else "git switch -c NAME keeps it on a branch",
            warnings=warnings,
            is_closed=not self._git.trusted and self._is_hooked(),
        )

    def _is_hooked(self) -> bool:
        has_own = any(name == b"core.hookspath" for _, name in self._git.settings())
        return has_own or has_hooks(self._git.place.common / "hooks")
