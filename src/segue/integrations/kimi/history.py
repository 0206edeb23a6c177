"""The sessions of Kimi Code: one folder per session, in one folder per project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text
from segue.integrations.kimi.reader import parse_turns
from segue.integrations.shared.documents import read_description
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

_LOG = "wire.jsonl"
_MAIN = "main"


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("KIMI_CODE_HOME") or home / ".kimi-code") / "sessions"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    logs: dict[Path, list[os.DirEntry[str]]] = {}
    for entry in find_files(root(home, environ), 4, _LOG):
        folder = Path(entry.path).parents[1]
        if entry.name == _LOG and folder.name == "agents":
            logs.setdefault(folder.parent, []).append(entry)
    for folder, entries in logs.items():
        main = next((entry for entry in entries if Path(entry.path).parent.name == _MAIN), None)
        if main is not None:
            state = [entry for entry in find_files(folder, 0, ".json") if entry.name == "state.json"]
            others = [entry for entry in entries if entry is not main]
            yield session_in_file(folder.name, main, related=[*others, *state])


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("kimi", session.path, session.id)
    return OpenedTranscript(builder, _read_all(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the log."""
    builder = TranscriptBuilder("kimi", session.path, session.id)
    return OpenedTranscript(builder, _read_main(session.path, builder, only_ends=True))


def _read_main(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    state = read_description(str(Path(path).parents[2] / "state.json"))
    builder.title = as_text(state.get("title"))
    builder.cwd = as_text(state.get("cwd") or state.get("workDir"))
    with open_transcript(path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder)


def _read_all(path: str, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    yield from _read_main(path, builder)
    for entry in find_files(Path(path).parents[1], 1, _LOG):
        agent = Path(entry.path).parent.name
        if agent == _MAIN or entry.name != _LOG:
            continue
        subagent = TranscriptBuilder("kimi", entry.path, builder.native_id)
        with open_lines(entry.path) as lines:
            yield from parse_turns(lines, subagent, side=f"agent-{agent}")
        builder.damages += subagent.damages
