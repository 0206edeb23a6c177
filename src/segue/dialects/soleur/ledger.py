"""The ledger: the decisions of all sessions of a project, as a Markdown list that users read and edit.

A line is `- 2026-11-15 09:30 UTC: Refresh the token early <!-- session/event -->`. The mark at its end is not
rendered. It identifies the decision, so that none is written twice.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.clock import utc_now
from segue.dialects.soleur.paths import file_name, old_file_name
from segue.durable.folder import Folder
from segue.durable.lock import WriterLock
from segue.durable.log import Log
from segue.durable.snapshot import read_signature
from segue.errors import ConflictError
from segue.store import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_MARK = re.compile(r"[ \t]*<!-- ([A-Za-z0-9][\w.-]*/[\w.-]+) -->[ \t]*\r?$", re.MULTILINE)
_LINE = re.compile(r"- (\d{4}-\d{2}-\d{2} \d{2}:\d{2}) UTC: (.*)")


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """One decision."""

    session_id: str
    id: str
    """The id of the event."""
    content: str
    decided_at: datetime

    @property
    def mark(self) -> str:
        return f"{self.session_id}/{re.sub(r'[^A-Za-z0-9_.-]', '-', self.id)}"

    def line(self) -> str:
        content = " ".join(self.content.split()).replace("<!--", "&lt;!--")  # it would hide everything after it
        return f"- {self.decided_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC: {content} <!-- {self.mark} -->\n"


class Ledger:
    """One file per project. Several sessions may write to it at once, and the user may edit it at any time."""

    def __init__(self, folder: Path, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._folder = Folder(os.path.realpath(folder))
        self._locks = self._folder.sub(".locks")
        self._clock = clock

    def path_of(self, project: str) -> str:
        return self._folder.path_of(self._name(project))

    def add(self, project: str, entries: Sequence[LedgerEntry]) -> None:
        """Append the entries that are not in the file yet. On return, they survive power loss."""
        name = self._name(project)
        self._folder.make()
        lock = WriterLock.acquire(self._locks, f"{name}.lock", timeout_seconds=WAIT_SECONDS, since=self._clock())
        if not isinstance(lock, WriterLock):
            raise ConflictError(f"{self.path_of(project)} is in use", hint="try again")
        try:
            self._append(name, project, entries)
        finally:
            lock.release()

    def text(self, project: str) -> str:
        """The file without the marks; empty if there is none."""
        return _MARK.sub("", self._read(project) or "")

    def entries(self, project: str) -> Iterator[dict[str, str]]:
        """The entries, as JSON objects."""
        for line in (self._read(project) or "").split("\n"):
            mark = _MARK.search(line)
            found = _LINE.fullmatch(_MARK.sub("", line))
            if mark is not None and found is not None:
                session_id, _, _ = mark[1].partition("/")
                moment = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
                yield {
                    "content": found[2],
                    "decided_at": moment.isoformat().replace("+00:00", "Z"),
                    "session_id": session_id,
                }

    def _append(self, name: str, project: str, entries: Sequence[LedgerEntry]) -> None:
        before = self._read(project)
        known = set(_MARK.findall(before or ""))
        lines = "".join(entry.line() for entry in entries if entry.mark not in known)
        if before is None:
            title = f"# Decisions: {' '.join(project.split())}\n\n"
            self._folder.create(name, (title + lines).encode("utf-8", "backslashreplace"))
        elif lines:
            # The last line may lack its newline, after an edit or a crash.
            gap = "" if before.endswith("\n") or not before else "\n"
            log = Log(self._folder, name, self._folder.open(name, os.O_RDWR | os.O_APPEND))
            try:
                log.append((gap + lines).encode("utf-8", "backslashreplace"))
            finally:
                log.close()

    def _name(self, project: str) -> str:
        """The name of the file; one that an earlier version created keeps its name."""
        name, old = f"{file_name(project)}.md", f"{old_file_name(project)}.md"
        is_old = old != name and not read_signature(self._folder, name) and read_signature(self._folder, old)
        return old if is_old else name

    def _read(self, project: str) -> str | None:
        try:
            return self._folder.read(self._name(project)).decode("utf-8", "backslashreplace")
        except FileNotFoundError:
            return None
