"""The sessions of aider: one file per project, in the current folder, above it, at home, or where aider is set to."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import NotFoundError
from segue.integrations.aider.reader import find_runs, parse_turns
from segue.integrations.format.lines import Lines, ReadAt
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.shared.history import ExternalSession, OpenedTranscript, open_lines
from segue.model import EPOCH

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_FILE = ".aider.chat.history.md"


def root(home: Path, environ: Mapping[str, str]) -> Path:
    """The current folder, since aider writes into the project itself."""
    return Path(environ.get("PWD") or home)


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    known: dict[str, int] = {}
    for path in _files(home, environ):
        try:
            state = path.stat()
            with open_lines(str(path)) as lines:
                found = list(find_runs(lines))
        except (OSError, NotFoundError):
            continue
        project = sha256(os.fsencode(path)).hexdigest()[:8]
        for run in found:
            id = f"{project}-{''.join(filter(str.isdigit, run.started))}"
            known[id] = known.get(id, 0) + 1
            if known[id] > 1:  # started twice in a second
                id = f"{id}-{known[id]}"
            is_last = run is found[-1]
            yield ExternalSession(
                id=id,
                revision=f"{run.end - run.offset}",
                path=str(path),
                changed_at=state.st_mtime if is_last else 0.0,
                offset=run.offset,
                end=run.end,
            )


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("aider", session.path, session.id)
    builder.cwd = str(Path(session.path).parent)
    return OpenedTranscript(builder, _read(session, builder))


def _files(home: Path, environ: Mapping[str, str]) -> list[Path]:
    here = root(home, environ)
    paths = [folder / _FILE for folder in (here, *here.parents, home)]
    if path := environ.get("AIDER_CHAT_HISTORY_FILE"):
        paths.insert(0, here / path)
    return list(dict.fromkeys(Path(os.path.realpath(path)) for path in paths))


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    digits = "".join(filter(str.isdigit, session.id.split("-")[1]))
    with open_lines(session.path) as lines:
        yield from parse_turns(Lines(_within(lines, session)), builder, _parse_moment(digits))


def _within(lines: Lines, session: ExternalSession) -> ReadAt:
    return lambda size, offset: lines.read(min(size, session.end - session.offset - offset), session.offset + offset)


def _parse_moment(digits: str) -> datetime:
    """The moment of these digits, in the time zone of this machine."""
    try:
        return datetime.strptime(digits, "%Y%m%d%H%M%S").astimezone().astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return EPOCH
