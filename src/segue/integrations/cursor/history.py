"""The transcripts of Cursor: one file per conversation, in a folder of its own or not, and one per subagent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.clock import datetime_at
from segue.errors import Damage
from segue.integrations.cursor.reader import parse_turns
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.shared.history import (
    ExternalSession,
    OpenedTranscript,
    find_files,
    mentions,
    open_lines,
    open_transcript,
    session_in_file,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_TRANSCRIPTS = "agent-transcripts"
_LIMITS = "Cursor records neither times nor results of calls: the turns have the time of the file, the calls no results"


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CURSOR_CONFIG_DIR") or home / ".cursor") / "projects"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    """Newer releases have a folder for each conversation. Transcripts without words are left out."""
    known: set[str] = set()
    folder = root(home, environ)
    for entry in (*find_files(folder, 3, ".jsonl"), *find_files(folder, 2, ".jsonl")):
        path, id = Path(entry.path), entry.name.removesuffix(".jsonl")
        parents = [parent.name for parent in path.parents[:2]]
        is_transcript = parents[0] == _TRANSCRIPTS or parents == [id, _TRANSCRIPTS]
        if is_transcript and id not in known and mentions(entry, b'"role"'):
            known.add(id)
            yield session_in_file(id, entry, related=list(find_files(_subagents(entry.path), 0, ".jsonl")))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("cursor", session.path, session.id)
    return OpenedTranscript(builder, _read_all(session, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file."""
    builder = TranscriptBuilder("cursor", session.path, session.id)
    return OpenedTranscript(builder, _read_main(session, builder, only_ends=True))


def _read_main(
    session: ExternalSession, builder: TranscriptBuilder, *, only_ends: bool = False
) -> Generator[TranscriptTurn]:
    with open_transcript(session.path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder, datetime_at(session.changed_at))
    if builder.tip:
        builder.limits.append(Damage(session.path, _LIMITS))


def _subagents(path: str) -> Path:
    """The folder with the transcripts of the subagents of a conversation that has a folder of its own."""
    return Path(path.removesuffix(".jsonl")).parent / "subagents"


def _read_all(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    yield from _read_main(session, builder)
    for entry in find_files(_subagents(session.path), 0, ".jsonl"):
        name = entry.name.removesuffix(".jsonl")
        subagent = TranscriptBuilder("cursor", entry.path, f"{session.id}:{name}")
        with open_lines(entry.path) as lines:
            yield from parse_turns(lines, subagent, datetime_at(session.changed_at), side=f"agent-{name[:8]}")
        builder.damages += subagent.damages
