"""What the format pages are held against: the reader on the page, run as a program, and Segue itself."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import segue

if TYPE_CHECKING:
    from pathlib import Path

ODD = ("two\nlines", "\u2028\u2029\x85\x0c\x1c", "\ud800 alone", "\0", 'quote " and \\ and +"}', "", "🙂" * 50, "\r\n")


def told_by_reader(reader: str, file: Path, *arguments: str) -> list[list[str]]:
    """Run as a program of its own that cannot import Segue."""
    command = [sys.executable, "-I", "-S", "-c", reader, str(file), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def told_by_segue(url: str, session_id: str, branch: str | None = None) -> list[list[str]]:
    session = segue.open(url).load(session_id)
    return [[turn.role, turn.content] for turn in session.path(branch or session.branch)]


def branch_out(url: str) -> None:
    """A session `odd` with odd text, several branches, and every role."""
    with segue.open(url).create(id="odd") as session:
        for text in ODD:
            session.add("user", text)
        session.fork(at=3, name="second")
        for text in reversed(ODD):
            session.add("assistant", text, native={"text": text})
        session.fork(at=5, name="third")
        session.add("user", "on the third")
        session.fork(name="unused", switch=False)
        session.switch("second")
        session.add("tool", "on the second again")
        session.fork(at=0, name="empty")
        session.add("system", "alone")
        session.switch("third")
