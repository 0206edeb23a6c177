"""The sessions of Gemini CLI: files in one folder per project; every start may add one. Subagents have their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.gemini.reader import parse_turns
from segue.integrations.shared.history import (
    ExternalSession,
    OpenedTranscript,
    find_files,
    open_lines,
    open_transcript,
    session_in_file,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_ID = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9][A-Za-z0-9_-]{0,127})"')
_HEAD_BYTES = 4096
_LONGEST_PATH = 4096
_SHORT = 8


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    """The first line of a file has the id; of several files with the same id, only the largest was continued."""
    largest: dict[str, os.DirEntry[str]] = {}
    for entry in find_files(root(home, environ), 2, ".json", ".jsonl"):
        if entry.name.startswith("session-") and Path(entry.path).parent.name == "chats":
            id = read_id(entry.path)
            if id not in largest or largest[id].stat().st_size < entry.stat().st_size:
                largest[id] = entry
    for id, entry in largest.items():
        yield session_in_file(id, entry, related=list(_subagents(entry.path, id)))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("gemini", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file."""
    builder = TranscriptBuilder("gemini", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder, only_ends=True))


def read_id(path: str) -> str:
    """The id of the session in a file; without one, the name of the file."""
    try:
        with open_lines(path) as lines:
            found = _ID.search(lines.read(_HEAD_BYTES, 0))
    except SegueError:
        found = None
    return found[1].decode() if found else Path(path).name.rpartition(".")[0]


def _subagents(path: str, id: str) -> Iterator[os.DirEntry[str]]:
    return find_files(Path(path).parent / id, 0, ".jsonl")


def _read(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    id = builder.native_id
    try:
        marker = read_small_file(str(Path(path).parents[1] / ".project_root"), size_bytes=_LONGEST_PATH)
        builder.cwd = marker.decode("utf-8", "replace").strip()
    except (FileNotFoundError, SegueError, UnusableFileError):
        pass  # the session may name its folder itself
    with open_transcript(path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder)
    builder.native_id = id
    for entry in () if only_ends else _subagents(path, id):
        subagent = TranscriptBuilder(builder.tool, entry.path)
        with open_lines(entry.path) as lines:
            yield from parse_turns(lines, subagent, side=f"agent-{Path(entry.path).stem[:_SHORT]}")
        builder.damages += subagent.damages
