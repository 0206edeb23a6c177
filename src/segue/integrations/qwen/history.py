"""The sessions of Qwen Code: one file per session, also archived ones, and one file per subagent in another folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.qwen.reader import parse_turns
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

_CHATS, _ARCHIVE = "chats", "archive"


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("QWEN_RUNTIME_DIR") or environ.get("QWEN_HOME") or home / ".qwen") / "projects"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    known: set[str] = set()
    for depth, folder in ((2, _CHATS), (3, _ARCHIVE)):
        for entry in find_files(root(home, environ), depth, ".jsonl"):
            id = entry.name.removesuffix(".jsonl")
            if Path(entry.path).parent.name == folder and id not in known:
                known.add(id)
                yield session_in_file(id, entry, related=list(_subagents(entry.path)))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("qwen", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file: Qwen repeats the title near the end."""
    builder = TranscriptBuilder("qwen", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder, only_ends=True))


def _subagents(path: str) -> Iterator[os.DirEntry[str]]:
    file = Path(path)
    project = file.parents[2] if file.parent.name == _ARCHIVE else file.parents[1]
    return find_files(project / "subagents" / file.stem, 0, ".jsonl")


def _read(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    with open_transcript(path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder)
    for entry in () if only_ends else _subagents(path):
        subagent = TranscriptBuilder(builder.tool, entry.path, builder.native_id)
        with open_lines(entry.path) as lines:
            yield from parse_turns(lines, subagent, side=entry.name.removesuffix(".jsonl"))
        builder.damages += subagent.damages
