"""Sessions of aider: all of a project in one file, found where the user is, at home, or where aider was told."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import NotFoundError
from segue.integrations import aider
from segue.integrations.format.lines import Lines, Read
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.history import ExternalSession, OpenedTranscript, opened
from segue.model import EPOCH

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_FILE = ".aider.chat.history.md"


class AiderHistory(Struct, frozen=True):
    name: str = "aider"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        """The folder where the user is: aider writes into the project itself."""
        return Path(environ.get("PWD") or home)

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        known: dict[str, int] = {}
        for path in self._files(home, environ):
            try:
                state = path.stat()
                with opened(str(path)) as lines:
                    found = list(aider.runs(lines))
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

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        about.cwd = str(Path(kept.path).parent)
        return OpenedTranscript(about, _steps(kept, about))

    def _files(self, home: Path, environ: Mapping[str, str]) -> list[Path]:
        here = self.root(home, environ)
        places = [folder / _FILE for folder in (here, *here.parents, home)]
        if told := environ.get("AIDER_CHAT_HISTORY_FILE"):
            places.insert(0, here / told)
        return list(dict.fromkeys(Path(os.path.realpath(place)) for place in places))


def _steps(kept: ExternalSession, about: TranscriptBuilder) -> Generator[TranscriptTurn]:
    digits = "".join(filter(str.isdigit, kept.id.split("-")[1]))
    with opened(kept.path) as lines:
        yield from aider.steps(Lines(_within(lines, kept)), about, _moment(digits))


def _within(lines: Lines, kept: ExternalSession) -> Read:
    return lambda size, offset: lines.read(min(size, kept.end - kept.offset - offset), kept.offset + offset)


def _moment(digits: str) -> datetime:
    """Of the digits of a time, which is that of the machine's own zone."""
    try:
        return datetime.strptime(digits, "%Y%m%d%H%M%S").astimezone().astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return EPOCH
