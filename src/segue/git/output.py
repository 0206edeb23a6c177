"""Parses what git prints: the files that it knows, and why a commit failed, as a message with what to do."""

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

    from segue.process import ProcessResult

_SHOWN_CHARACTERS = 300
_LOCK = re.compile(r"'([^']+\.lock)'")


class RefusedError(Exception):
    """Why there is no commit, and what to do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


class Change(NamedTuple):
    """A file as it is in a commit, or will be."""

    mode: bytes
    """All zeros for a deleted file."""
    blob: bytes
    name: bytes

    @property
    def line(self) -> bytes:
        """The input line for `update-index --index-info`."""
        return b"%s %s\t%s\0" % (self.mode, self.blob, self.name)


def parse_changes(output: bytes) -> tuple[Change, ...]:
    """Parse `diff-index --raw -z`: a line of five fields, then the name."""
    parts = output.split(b"\0")
    lines = zip(parts[0::2], parts[1::2], strict=False)
    return tuple(Change(fields[1], fields[3], name) for line, name in lines if (fields := line.split(b" ")))


def parse_tagged(output: bytes) -> dict[bytes, set[bytes]]:
    """Parse `ls-files -t -z`: the names by their tag."""
    found: dict[bytes, set[bytes]] = {}
    for line in output.split(b"\0")[:-1]:
        found.setdefault(line[:1], set()).add(line[2:])
    return found


def refusal_by_hook(ended: ProcessResult, timeout_seconds: float) -> RefusedError:
    if ended.code is None:
        return RefusedError(
            f"a hook or the signing did not end within {timeout_seconds:g} seconds and was stopped",
            "run git commit in a terminal to see what it waits for",
        )
    text = ended.errors + ended.output.decode("utf-8", "replace")
    details = f": {_last_lines(text)}" if text.strip() else f", with exit code {ended.code}"
    return RefusedError(f"a hook of the repository rejected it{details}", "fix it, then commit again")


def explain_failure(ended: ProcessResult, root: Path, timeout_seconds: float) -> RefusedError:
    """A known failure of git in our words, any other in its own."""
    text = ended.errors
    if ended.code is None:
        return refusal_by_hook(ended, timeout_seconds)
    if "safe.directory" in text:
        trust = f"if you trust it: git config --global --add safe.directory {root}"
        return RefusedError("git does not trust this repository, since it belongs to another user", trust)
    if "user.email" in text or "user.useConfigOnly" in text:
        return RefusedError(
            "git does not know who you are",
            'git config --global user.name "Your Name", and user.email likewise',
        )
    if (found := _LOCK.search(text)) is not None and os.path.lexists(found[1]):
        return locked_error(found[1])
    if "failed to sign" in text:
        return RefusedError(
            f"the commit could not be signed: {_first_line(text)}",
            "make signing work in a terminal without questions, or switch it off (commit.gpgSign)",
        )
    return RefusedError(f"git failed: {_first_line(text)}", "run git status in a terminal")


def locked_error(path: str) -> RefusedError:
    return RefusedError(
        f"{path} exists{_owner(path)}: another git is running here, or one was killed",
        "commit again when it has ended; if no git is running, delete that file",
    )


def format_names(names: Sequence[bytes]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{os.fsdecode(names[0])}{more}"


def _owner(lock: str) -> str:
    with suppress(OSError, KeyError):
        found = os.lstat(lock)
        since = datetime.fromtimestamp(found.st_mtime, UTC)
        return f" since {since:%Y-%m-%d %H:%M:%S} UTC, made by {pwd.getpwuid(found.st_uid).pw_name}"
    return ""


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.split("\n") if line.strip()] or ["nothing"]
    found = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0])
    return found.removeprefix("fatal: ").removeprefix("error: ")[:_SHOWN_CHARACTERS]


def _last_lines(text: str) -> str:
    return " / ".join([line.strip() for line in text.split("\n") if line.strip()][-3:])[:_SHOWN_CHARACTERS]
