"""The sessions of Droid: one file per session, in one folder per project; a subagent has a file of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.integrations.droid.reader import parse_turns
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.shared.history import (
    ExternalSession,
    OpenedTranscript,
    find_files,
    open_lines,
    open_transcript,
    session_in_file,
)
from segue.integrations.shared.subagents import find_tops

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_PARENT = re.compile(rb'"callingSessionId"\s*:\s*"([A-Za-z0-9][A-Za-z0-9_-]{0,127})"')
_HEAD_BYTES = 4096


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("FACTORY_HOME_OVERRIDE") or home) / ".factory" / "sessions"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    folder = root(home, environ)
    files = {
        entry.name.removesuffix(".jsonl"): entry for depth in (1, 0) for entry in find_files(folder, depth, ".jsonl")
    }
    tops = find_tops({id: _read_parent(entry) for id, entry in files.items()})
    subagents: dict[str, list[os.DirEntry[str]]] = {}
    for id, top in tops.items():
        if top != id:
            subagents.setdefault(top, []).append(files[id])
    for id, entry in files.items():
        if tops[id] == id:
            yield session_in_file(id, entry, related=subagents.get(id, ()))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("droid", session.path, session.id)
    return OpenedTranscript(builder, _read_all(session, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file."""
    builder = TranscriptBuilder("droid", session.path, session.id)
    return OpenedTranscript(builder, _read_file(session.path, builder, only_ends=True))


def _read_parent(entry: os.DirEntry[str]) -> str:
    """The session that started this one as a subagent; empty if it was the user."""
    try:
        with open_lines(entry.path) as lines:
            found = _PARENT.search(lines.read(_HEAD_BYTES, 0).partition(b"\n")[0])
    except SegueError:
        return ""
    return found[1].decode() if found else ""


def _read_file(
    path: str, builder: TranscriptBuilder, *, only_ends: bool = False, side: str = ""
) -> Generator[TranscriptTurn]:
    with open_transcript(path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder, side=side)


def _read_all(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    yield from _read_file(session.path, builder)
    for path in session.related:
        name = Path(path).name.removesuffix(".jsonl")
        subagent = TranscriptBuilder("droid", path, f"{builder.native_id}:{name}")
        yield from _read_file(path, subagent, side=f"agent-{name[:8]}")
        builder.damages += subagent.damages
