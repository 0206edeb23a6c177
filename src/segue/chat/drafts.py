"""The part of an answer that has arrived, in a file: what the user has seen survives `kill -9`.

A session contains complete turns, and half an answer is not one yet, so no store records it. The file is written
as the answer streams, without waiting for the disk, and removed when the answer is recorded.
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
"""How long the draft of a session that is never resumed stays."""


class Draft:
    """The draft of one answer. An error while writing it does not affect the conversation."""

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
    """The drafts in a folder of this machine, each named after the place of its question in the session.

    Without a folder, nothing is written.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._folder = Folder(str(path.resolve())) if path is not None else None
        self._is_clean = False

    def begin(self, about: Overview) -> Draft:
        if self._folder is not None and not self._is_clean:
            self._clean(self._folder)
        return Draft(self._folder, _name(about))

    def find(self, about: Overview) -> str:
        """The part of an answer that had arrived before a crash; empty if there is none."""
        if self._folder is None:
            return ""
        try:
            return self._folder.read(_name(about)).decode("utf-8", "ignore")  # the last character may be half of one
        except (SegueError, OSError):
            return ""

    def forget(self, session_id: str) -> None:
        """Remove all drafts of a session."""
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
