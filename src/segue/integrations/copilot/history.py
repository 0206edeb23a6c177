"""The sessions of GitHub Copilot CLI: one folder per session, with its events and a description of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.integrations.copilot.reader import parse_turns
from segue.integrations.format.transcript import TranscriptBuilder
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

EVENTS = "events.jsonl"
DESCRIPTION = "workspace.yaml"
_DESCRIPTION_BYTES = 64 << 10
_NAME = re.compile(r"^name: (?:'((?:[^'\n]|'')*)'|([\w#/(][^#\n:]*?)) *$(?!\n )", re.MULTILINE)
"""A name in one line, without anything that needs a parser."""


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("COPILOT_HOME") or home / ".copilot") / "session-state"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    for entry in find_files(root(home, environ), 1, EVENTS):
        if entry.name == EVENTS:
            yield session_in(Path(entry.path).parent)
    for entry in find_files(root(home, environ), 0, ".jsonl"):  # of early releases
        yield session_in_file(entry.name.removesuffix(".jsonl"), entry)


def session_in(folder: Path) -> ExternalSession:
    """The session in a folder; its revision depends on both files."""
    return session_in_file(folder.name, folder / EVENTS, related=list(find_files(folder, 0, DESCRIPTION)))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("copilot", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file: its title is in another one."""
    builder = TranscriptBuilder("copilot", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder, only_ends=True))


def _read(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    if Path(path).name == EVENTS:
        builder.title = _name(str(Path(path).with_name(DESCRIPTION)))
    with open_transcript(path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder)


def _name(path: str) -> str:
    """The name of the session; empty if it has none, or if the description cannot be read."""
    try:
        text = read_small_file(path, size_bytes=_DESCRIPTION_BYTES).decode("utf-8", "replace")
    except (OSError, SegueError, UnusableFileError):
        return ""
    if found := _NAME.search(text):
        return found[2] or found[1].replace("''", "'")
    if not re.search(r"^name: *\S", text, re.MULTILINE):
        return ""
    from segue.formats.yaml import InvalidYamlError, load_yaml

    try:
        described = load_yaml(text)
    except InvalidYamlError:
        return ""
    name = described.get("name") if isinstance(described, dict) else ""
    return name if isinstance(name, str) else ""
