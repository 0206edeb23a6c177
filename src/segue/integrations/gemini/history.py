"""Sessions of Gemini CLI: files in a folder a project, of which every start may add one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.integrations import gemini
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.history import ExternalSession, OpenedTranscript, files, opened, seen

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_ID = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9][A-Za-z0-9_-]{0,127})"')
_HEAD_BYTES = 4096
_LONGEST_PATH = 4096


class GeminiHistory(Struct, frozen=True):
    name: str = "gemini"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        """A session is named in its first line; of several files of one name, only one went on."""
        largest: dict[str, os.DirEntry[str]] = {}
        for entry in files(self.root(home, environ), 2, ".json", ".jsonl"):
            if entry.name.startswith("session-") and Path(entry.path).parent.name == "chats":
                id = _id(entry)
                if id not in largest or largest[id].stat().st_size < entry.stat().st_size:
                    largest[id] = entry
        for id, entry in largest.items():
            yield seen(id, entry)

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        return OpenedTranscript(about, _steps(kept.path, about))


def _id(entry: os.DirEntry[str]) -> str:
    try:
        with opened(entry.path) as lines:
            found = _ID.search(lines.read(_HEAD_BYTES, 0))
    except SegueError:
        found = None
    return found[1].decode() if found else entry.name.rpartition(".")[0]


def _steps(path: str, about: TranscriptBuilder) -> Generator[TranscriptTurn]:
    id = about.native_id
    try:
        marker = read_small_file(str(Path(path).parents[1] / ".project_root"), size_bytes=_LONGEST_PATH)
        about.cwd = marker.decode("utf-8", "replace").strip()
    except (FileNotFoundError, SegueError, UnusableFileError):
        pass  # then the session may say it itself
    with opened(path) as lines:
        yield from gemini.steps(lines, about)
    about.native_id = id
