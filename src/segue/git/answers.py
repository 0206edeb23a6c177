"""What git says: the state of our files, and why there is no commit, in words that say what to do."""

from __future__ import annotations

import os
import pwd
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.git.process import Ended

_SHOWN_CHARACTERS = 300
_LOCK = re.compile(r"'([^']+\.lock)'")


class RefusedError(Exception):
    """Why there is no commit, and what to do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


class State(NamedTuple):
    """What git says of our paths: names of files, relative to the root."""

    head: str
    branch: str
    """Empty while no branch is checked out."""
    changed: tuple[bytes, ...]
    untracked: tuple[bytes, ...]
    ignored: tuple[bytes, ...]
    unmerged: tuple[bytes, ...]


def read_status(output: bytes) -> State:
    head, branch = "", ""
    names: dict[bytes, list[bytes]] = {b"1": [], b"u": [], b"?": [], b"!": []}
    places = {b"1": 8, b"u": 10, b"?": 1, b"!": 1}  # the fields before the name, which may itself hold spaces
    for line in output.split(b"\0"):
        kind, _, rest = line.partition(b" ")
        if kind == b"#":
            key, _, value = rest.decode("utf-8", "replace").partition(" ")
            head = value if key == "branch.oid" and value != "(initial)" else head
            branch = value if key == "branch.head" and value != "(detached)" else branch
        elif kind in names and not (kind == b"?" and line.endswith(b"/")):  # which would be a repository within
            names[kind].append(line.split(b" ", places[kind])[-1])
    return State(
        head=head,
        branch=branch,
        changed=(*names[b"1"], *names[b"?"]),
        untracked=tuple(names[b"?"]),
        ignored=tuple(names[b"!"]),
        unmerged=tuple(names[b"u"]),
    )


def explained(ended: Ended, root: Path, timeout_seconds: float) -> RefusedError:
    """Git's answer in our words where it is well known, and in its own where not."""
    said = ended.errors
    if ended.code is None:
        return RefusedError(
            f"a hook or the signing was not done within {timeout_seconds:g} seconds and was stopped",
            "run git commit in a terminal to see what it waits for",
        )
    if ended.code == 1 and said.strip():  # git's own failures end with 128
        return RefusedError(f"a hook of the repository refused it: {_last_lines(said)}", "see to it, then commit again")
    if "safe.directory" in said:
        trust = f"if you trust it: git config --global --add safe.directory {root}"
        return RefusedError("git does not trust this repository, since it belongs to another user", trust)
    if "user.email" in said or "user.useConfigOnly" in said:
        return RefusedError(
            "git does not know who you are",
            'git config --global user.name "Your Name", and user.email likewise',
        )
    if (found := _LOCK.search(said)) is not None and os.path.lexists(found[1]):
        return RefusedError(
            f"{found[1]} is there{_owner(found[1])}: another git is at work here, or one was killed",
            "commit again when it is done; if no git is running, delete that file yourself",
        )
    if "failed to sign" in said:
        return RefusedError(
            f"the commit could not be signed: {_first_line(said)}",
            "make signing work in a terminal without questions, or switch it off (commit.gpgSign)",
        )
    return RefusedError(f"git says: {_first_line(said)}", "run git status in a terminal")


def shown(names: Sequence[bytes]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{os.fsdecode(names[0])}{more}"


def _owner(lock: str) -> str:
    with suppress(OSError, KeyError):
        found = os.lstat(lock)
        since = datetime.fromtimestamp(found.st_mtime, UTC)
        return f" since {since:%Y-%m-%d %H:%M:%S} UTC, made by {pwd.getpwuid(found.st_uid).pw_name}"
    return ""


def _first_line(said: str) -> str:
    lines = [line.strip() for line in said.split("\n") if line.strip()] or ["nothing at all"]
    telling = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0])
    return telling.removeprefix("fatal: ").removeprefix("error: ")[:_SHOWN_CHARACTERS]


def _last_lines(said: str) -> str:
    return " / ".join([line.strip() for line in said.split("\n") if line.strip()][-3:])[:_SHOWN_CHARACTERS]
