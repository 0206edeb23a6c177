"""The sessions of Claude Code: one file per session, and next to it files of subagents and of long results."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue.durable.folder import Folder
from segue.errors import SegueError
from segue.integrations.claude.reader import parse_turns
from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.shared.history import (
    ExternalSession,
    OpenedTranscript,
    find_files,
    open_lines,
    open_transcript,
    session_in_file,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_AGENT = "agent-"
"""How the names of the files of subagents begin; older releases have them next to the sessions."""
_DEEPEST = 2
"""How far below their folder the files of subagents are."""
_SPILLED = re.compile(r"<persisted-output>\n[^\n]*: \S*/tool-results/([A-Za-z0-9_][A-Za-z0-9._-]{0,200})\n")


class _Owner(Struct, rename="camel"):
    session_id: str = ""


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    known: set[str] = set()
    for entry in find_files(root(home, environ), 1, ".jsonl"):
        id = entry.name.removesuffix(".jsonl")
        if id not in known and not id.startswith(_AGENT):
            known.add(id)
            yield session_in_file(id, entry, related=list(_find_subagents(entry.path)))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("claude", session.path, session.id)
    return OpenedTranscript(builder, _read_all(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the file: Claude repeats what describes a session near the end."""
    builder = TranscriptBuilder("claude", session.path, session.id)
    return OpenedTranscript(builder, _read_main(session.path, builder, only_ends=True))


def _read_main(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    with open_transcript(path, builder, only_ends=only_ends) as lines:
        yield from parse_turns(lines, builder, lambda text: text if only_ends else _read_spilled(path, text))


def _read_all(path: str, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    yield from _read_main(path, builder)
    beside = (entry.path for entry in _find_subagents(path))
    for place in (*beside, *_older_subagents(path)):
        subagent = TranscriptBuilder(builder.tool, place, builder.native_id)
        with open_lines(place) as lines:
            yield from parse_turns(lines, subagent, lambda text: _read_spilled(path, text))
        builder.damages += subagent.damages


def _own_folder(path: str) -> Path:
    """The folder of a session, for what is not in its file."""
    return Path(path.removesuffix(".jsonl"))


def _find_subagents(path: str) -> Iterator[os.DirEntry[str]]:
    folder = _own_folder(path) / "subagents"
    if folder.is_dir():
        for depth in range(_DEEPEST + 1):
            yield from (entry for entry in find_files(folder, depth, ".jsonl") if entry.name.startswith(_AGENT))


def _older_subagents(path: str) -> tuple[str, ...]:
    folder = Path(path).parent
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return ()
    return _agents_by_session(str(folder), changed).get(_own_folder(path).name, ())


@lru_cache(maxsize=4)
def _agents_by_session(folder: str, changed: int) -> dict[str, tuple[str, ...]]:  # noqa: ARG001 - for the cache
    """The files of subagents in the folder of a project, by the session that their first record names."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in find_files(Path(folder), 0, ".jsonl"):
        if entry.name.startswith(_AGENT):
            try:
                with open_lines(entry.path) as lines:
                    first = next(iter(lines), None)
                owner = msgspec.json.decode(first.data or b"{}", type=_Owner).session_id if first else ""
            except (msgspec.MsgspecError, UnicodeDecodeError, SegueError):
                continue
            found[owner] = (*found.get(owner, ()), entry.path)
    return found


def _read_spilled(path: str, text: str) -> str:
    """The whole of a result that was too long for the session; else the text.

    Only the name of the file is taken from the text: it is in the session's own folder, and no link.
    """
    found = _SPILLED.match(text)
    if found is None:
        return text
    folder = _own_folder(os.path.realpath(path)) / "tool-results"
    if os.path.realpath(folder) != str(folder):
        return text
    try:
        data = Folder(str(folder)).read(found[1]) if (folder / found[1]).stat().st_size <= TURN_BYTES else b""
    except (OSError, SegueError):
        return text
    return data.decode("utf-8", "replace") or text
