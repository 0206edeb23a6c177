"""The sessions of Claude Code: one file per session, and next to it one file per subagent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.claude.reader import parse_turns
from segue.integrations.format.lines import Ends
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.shared.history import (
    ExternalSession,
    OpenedTranscript,
    find_files,
    open_lines,
    session_in_file,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    known: set[str] = set()
    for entry in find_files(root(home, environ), 1, ".jsonl"):
        id = entry.name.removesuffix(".jsonl")
        if id not in known:
            known.add(id)
            yield session_in_file(id, entry, related=list(find_files(_subagents(entry.path), 0, ".jsonl")))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("claude", session.path, session.id)
    return OpenedTranscript(builder, _read_all(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file: Claude repeats what describes a session near the end."""
    builder = TranscriptBuilder("claude", session.path, session.id)
    return OpenedTranscript(builder, _read_main(session.path, builder, only_ends=True))


def _read_main(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    with open_lines(path, only_ends=only_ends) as lines:
        builder.is_partial = isinstance(lines, Ends)
        yield from parse_turns(lines, builder)


def _subagents(path: str) -> Path:
    return Path(path.removesuffix(".jsonl")) / "subagents"


def _read_all(path: str, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    yield from _read_main(path, builder)
    for entry in find_files(_subagents(path), 0, ".jsonl"):
        subagent = TranscriptBuilder(builder.tool, entry.path, builder.native_id)
        with open_lines(entry.path) as lines:
            yield from parse_turns(lines, subagent)
        builder.damages += subagent.damages
