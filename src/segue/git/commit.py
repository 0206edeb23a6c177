"""One commit of our files, built in a copy of the user's index.

So nothing that the user staged becomes part of it, and a hook may take its time. The user's index is locked only while
the branch moves and our files are entered into it.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from segue.formats.terminal import one_line, printable
from segue.git.hooks import find_hooks, has_hooks
from segue.git.index import GitIndex
from segue.git.output import Change, RefusedError, explain_failure, format_names, parse_changes, parse_tagged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.git.command import Git
    from segue.process import ProcessResult

_TICK_SECONDS = 0.05
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


class CommitResult(Struct, frozen=True, kw_only=True):
    """The result of a commit."""

    status: Literal["committed", "nothing", "failed"]
    message: str
    """For the user, on one line."""
    commit: str = ""
    """The full hash; empty unless something was committed."""
    hint: str = ""
    warnings: tuple[str, ...] = ()
    """What the user may not expect, although nothing failed."""
    hooks_skipped: bool = False
    """Whether hooks of the repository were not run because it is not trusted."""


class _Files(NamedTuple):
    """What git knows about our paths: names of files, relative to the root."""

    known: set[bytes]
    """In the last commit, or staged."""
    new: set[bytes]
    staged: set[bytes]
    """Known, but not committed yet."""


class Commit:
    """Makes one commit."""

    def __init__(self, git: Git, wait_seconds: float) -> None:
        self._git = git
        self._index = GitIndex(git.location.folder)
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
                return CommitResult(
                    status="nothing", message="nothing to commit: everything is committed already", warnings=warnings
                )
            hooks = find_hooks(self._git, copy)
            text = f"{printable(message)}\n".encode()
            if hooks is not None:
                hooks.check_files()
                changes = self._changes(head, copy)
                text = hooks.edited(text, self._index.folder)
            commit, branch = self._publish(changes, text, head, copy)
            in_time = hooks is None or hooks.run_after_commit()
        if self._git.trusted:
            self._git.run("gc", "--auto", "--quiet")
        return self._committed(commit, branch, warnings, in_time=in_time)

    def uncommitted(self, paths: Sequence[bytes]) -> list[bytes]:
        """The files among these that differ from the last commit; new ones come last."""
        with self._index.copied() as copy:
            head = self._head()
            self._start_from(head, copy)
            files = self._look(paths, copy)
            changed = files.staged | (self._changed(paths, head, copy) if head else set())
            return [*sorted(changed), *sorted(files.new - changed)]

    def _changed(self, paths: Sequence[bytes], head: str, copy: Path) -> set[bytes]:
        self._git.run(
            "update-index", "-q", "--refresh", index=copy
        )  # else every file with a new time counts as changed
        options = ("--name-only", "-z", "--no-renames", "--ignore-submodules=none")
        return set(self._output("diff-index", *options, head, "--", *paths, index=copy).split(b"\0")[:-1])

    # ── State ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _refuse_unfinished(self) -> None:
        for name, what in _UNFINISHED.items():
            if os.path.lexists(self._git.location.folder / name):
                raise RefusedError(
                    f"a {what} is in progress, and a commit now would become part of it",
                    f"finish it (git {what} --continue) or give it up (git {what} --abort)",
                )

    def _head(self) -> str:
        """The commit that is checked out; empty if there is none yet."""
        ended = self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if ended.code == 0:
            return ended.output.decode().strip()
        if self._branch():  # which has no commit yet
            return ""
        raise self._failure(self._git.run("rev-parse", "--verify", "HEAD^{commit}"))

    def _branch(self) -> str:
        """The branch that is checked out; empty if HEAD is detached."""
        ended = self._git.run("symbolic-ref", "--quiet", "HEAD")
        return ended.output.decode("utf-8", "replace").strip() if ended.code == 0 else ""

    def _look(self, paths: Sequence[bytes], copy: Path) -> _Files:
        if not paths:
            return _Files(set(), set(), set())
        staged = parse_tagged(self._output("ls-files", "-t", "-z", "--cached", "--", *paths))
        if unmerged := sorted(staged.get(b"M", ())):
            raise RefusedError(
                f"{format_names(unmerged)} has conflicts", "resolve them, then git add what you resolved"
            )
        everything = ("--cached", "--others", "--exclude-standard")
        found = parse_tagged(self._output("ls-files", "-t", "-z", *everything, "--", *paths, index=copy))
        committed = found.get(b"H", set())
        added = staged.get(b"H", set()) - committed
        new = {name for name in found.get(b"?", ()) if not name.endswith(b"/")}  # a folder would be a nested repository
        known = (committed | added) - staged.get(b"S", set())  # a file outside of a sparse checkout is not deleted
        return _Files(known, new, added)

    def _refuse_ignored(self, paths: Sequence[bytes]) -> None:
        if not paths:
            return
        options = ("--others", "--ignored", "--exclude-standard")
        ignored = self._output("ls-files", "-z", *options, "--", *paths).split(b"\0")[:-1]
        if ignored:
            raise RefusedError(
                f"git ignores {format_names(ignored)} ({self._rule(ignored[0])})",
                "remove the rule from .gitignore, or turn commits off with commit = false",
            )

    def _warn_of_ignored(self, names: Sequence[bytes], copy: Path) -> tuple[str, ...]:
        """One warning per rule that ignores one of these files, with the first such file."""
        if not names:
            return ()
        options = ("--others", "--ignored", "--exclude-standard")
        ignored = self._output("ls-files", "-z", *options, "--", *names, index=copy).split(b"\0")[:-1]
        found: dict[str, bytes] = {}
        for name in sorted(ignored, key=lambda name: names.index(name) if name in names else len(names)):
            found.setdefault(self._rule(name), name)
        warning = "git ignores {}, so it is saved but not committed ({})"
        return tuple(one_line(warning.format(os.fsdecode(name), rule)) for rule, name in found.items())

    def _rule(self, name: bytes) -> str:
        """The rule that ignores a file: file, line and pattern."""
        # This command has no literal names; a name that begins with ./ is taken literally.
        words = ("--no-literal-pathspecs", "check-ignore", "-v", "-z", "--stdin")
        source, line, pattern, *_ = [*self._git.run(*words, stdin=b"./" + name + b"\0").output.split(b"\0"), b"", b""]
        return (
            f"{os.fsdecode(source)} line {os.fsdecode(line)}: {os.fsdecode(pattern)}" if line else "by an unknown rule"
        )

    # ── Building the commit in the copy ──────────────────────────────────────────────────────────────────────────────

    def _start_from(self, head: str, copy: Path) -> None:
        what = ("--reset", "-i", head) if head else ("--empty",)
        self._output("read-tree", *what, index=copy)

    def _stage(self, names: Sequence[bytes], copy: Path) -> None:
        if not self._git.trusted:
            self._refuse_filters(names)
        stdin = b"".join(name + b"\0" for name in names)
        self._output("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=stdin, index=copy)

    def _refuse_filters(self, names: Sequence[bytes]) -> None:
        """Refuse files whose filter may not run: one that it would encrypt must not be committed as plain text."""
        if not self._git.filters:
            return
        stdin = b"".join(name + b"\0" for name in names)
        fields = self._output("check-attr", "-z", "--stdin", "filter", stdin=stdin).split(b"\0")
        for name, value in zip(fields[0::3], fields[2::3], strict=False):
            if value in self._git.filters:
                raise RefusedError(
                    f"{os.fsdecode(name)} needs the filter {os.fsdecode(value)!r}, and this repository is not"
                    " trusted to run it",
                    "trust it, or commit it yourself",
                )

    def _changes(self, head: str, copy: Path) -> tuple[Change, ...]:
        base = head or self._output("hash-object", "-t", "tree", "/dev/null").decode().strip()
        options = ("--cached", "--raw", "-r", "-z", "--no-renames", "--full-index", "--ignore-submodules=none")
        return parse_changes(self._output("diff-index", *options, base, index=copy))

    # ── Moving the branch ────────────────────────────────────────────────────────────────────────────────────────────

    def _publish(self, changes: Sequence[Change], message: bytes, head: str, copy: Path) -> tuple[str, str]:
        """Commit the changes on top of what is checked out now; returns the new commit and its branch."""
        deadline = time.monotonic() + self._wait_seconds
        lines = b"".join(change.line for change in changes)
        while True:
            with self._index.locked(self._wait_seconds):
                self._refuse_unfinished()
                if (now := self._head()) != head:  # another process has committed
                    head = now
                    self._start_from(head, copy)
                    self._output("update-index", "-z", "--index-info", stdin=lines, index=copy)
                commit = self._write_commit(message, head, copy)
                with self._index.copied() as next_index:
                    self._output("update-index", "-z", "--index-info", stdin=lines, index=next_index)
                    branch = self._branch()
                    ended = self._move(commit, head, next_index)
            if ended is None:
                return commit, branch
            is_passing = "but expected" in ended.errors or "File exists" in ended.errors  # it moved, or is locked
            if time.monotonic() > deadline or not is_passing:
                raise self._failure(ended)
            time.sleep(_TICK_SECONDS)

    def _write_commit(self, message: bytes, head: str, copy: Path) -> str:
        # A partial clone need not have all objects.
        tree = self._output("write-tree", "--missing-ok", index=copy).decode().strip()
        parents = ("-p", head) if head else ()
        is_signed = self._git.run("config", "--type=bool", "commit.gpgSign").output.strip() == b"true"
        sign = ("-S",) if is_signed and self._git.trusted else ()
        return self._output("commit-tree", *sign, *parents, tree, stdin=message).decode().strip()

    def _move(self, commit: str, head: str, next_index: Path) -> ProcessResult | None:
        """Move the branch to the commit and replace the index; git's result if it refused."""
        kind = (
            "commit" if head else "commit (initial)"
        )  # without the message: other users can see the arguments of a program
        ended = None
        try:
            ended = self._git.run("update-ref", "-m", kind, "HEAD", commit, head or "0" * len(commit))
        finally:  # if interrupted here, the commit was made or was not
            is_there = (ended is not None and ended.code == 0) or self._head() == commit
            if is_there:
                self._index.put(next_index)
        return None if is_there else ended

    # ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _output(self, *arguments: str | bytes, stdin: bytes = b"", index: Path | None = None) -> bytes:
        ended = self._git.run(*arguments, stdin=stdin, index=index)
        if ended.code != 0:
            raise self._failure(ended)
        return ended.output

    def _failure(self, ended: ProcessResult) -> RefusedError:
        return explain_failure(ended, self._git.location.root, self._git.timeout_seconds)

    def _committed(self, commit: str, branch: str, warnings: tuple[str, ...], *, in_time: bool) -> CommitResult:
        where = f"on {branch.removeprefix('refs/heads/')}" if branch else "on no branch (HEAD is detached)"
        late = "" if in_time else "; the post-commit hook did not end in time and was stopped"
        return CommitResult(
            status="committed",
            commit=commit,
            message=one_line(f"committed {commit[:10]} {where}{late}"),
            hint="" if branch else "git switch -c NAME creates a branch for it",
            warnings=warnings,
            hooks_skipped=not self._git.trusted and self._is_hooked(),
        )

    def _is_hooked(self) -> bool:
        has_own = any(name == b"core.hookspath" for _, name in self._git.settings())
        return has_own or has_hooks(self._git.location.common / "hooks")
