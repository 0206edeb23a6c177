"""What has come of an answer so far, in a file of its own: what a person has seen, `kill -9` does not take away.

A session holds what was said, and half an answer is not that yet: so no store is asked to keep it. The file is written
as the answer comes, without waiting for the disk, and goes when the answer is recorded.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.durable.folder import Folder
from segue.errors import SegueError

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import Overview

KEPT_SECONDS = 30 * 86400
"""For whoever never comes back."""


class Draft:
    """One answer as it comes. What cannot be written costs no conversation: there is just less to come back to."""

    def __init__(self, folder: Folder | None, name: str) -> None:
        self._folder = folder
        self._descriptor = -1
        if folder is not None:
            with suppress(SegueError, OSError):
                folder.make()
                self._descriptor = folder.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC)

    def add(self, text: str) -> None:
        if self._folder is not None and self._descriptor >= 0:
            with suppress(OSError):
                self._folder.kernel.write(self._descriptor, text.encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        if self._folder is not None and self._descriptor >= 0:
            with suppress(OSError):
                self._folder.kernel.close(self._descriptor)
            self._descriptor = -1


class Drafts:
    """In a folder of this machine, each under the place of its question: the same place is always the same question.

    Without a folder nothing is kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._folder = Folder(str(path.resolve())) if path is not None else None
        self._is_clean = False

    def begin(self, about: Overview) -> Draft:
        if self._folder is not None and not self._is_clean:
            self._clean(self._folder)
        return Draft(self._folder, _name(about))

    def find(self, about: Overview) -> str:
        """What had come when a crash came; empty if nothing had."""
        if self._folder is None:
            return ""
        try:
            return self._folder.read(_name(about)).decode("utf-8", "ignore")  # the last character may be half of one
        except (SegueError, OSError):
            return ""

    def forget(self, session_id: str) -> None:
        """Remove all that had come in a session."""
        if self._folder is None:
            return
        for entry in list(self._folder.scan()):
            if entry.name.startswith(_prefix(session_id)):
                self._folder.remove(entry.name)

    def drop(self, about: Overview) -> None:
        if self._folder is not None:
            self._folder.discard(_name(about))

    def _clean(self, folder: Folder) -> None:
        self._is_clean = True
        with suppress(SegueError, OSError):
            for entry in list(folder.scan()):
                if entry.stat(follow_symlinks=False).st_mtime < time.time() - KEPT_SECONDS:
                    folder.discard(entry.name)


def _name(about: Overview) -> str:
    place = [about.created_at.isoformat(), about.branch, str(about.turn_count)]
    return _prefix(about.id) + hashlib.sha256("\n".join(place).encode()).hexdigest()[:32]


def _prefix(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()[:32] + "-"
