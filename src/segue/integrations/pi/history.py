"""The sessions of pi: one file per session, in one folder per project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.pi.reader import parse_turns
from segue.integrations.shared.history import (
    ExternalSession,
    OpenedTranscript,
    find_files,
    open_transcript,
    session_in_file,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn


_TIME = re.compile(r"^[0-9TZ:-]+_")
"""The start of the name of a file; the rest is the id, in which users may have any letters."""


def root(home: Path, environ: Mapping[str, str]) -> Path:
    agent = Path(environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
    return Path(environ.get("PI_CODING_AGENT_SESSION_DIR") or agent / "sessions")


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    folder = root(home, environ)
    known: set[str] = set()
    for entry in (*find_files(folder, 1, ".jsonl"), *find_files(folder, 0, ".jsonl")):
        id = _TIME.sub("", entry.name.removesuffix(".jsonl"))
        if id not in known:
            known.add(id)
            yield session_in_file(id, entry)


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("pi", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file."""
    builder = TranscriptBuilder("pi", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder, only_ends=True))


def _read(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    with open_transcript(path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder)
