"""The sessions of Continue: one document per session, and a list with their titles and when they started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.clock import datetime_at
from segue.integrations.continue_cli.reader import parse_turns
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_seconds, objects
from segue.integrations.shared.documents import objects_in, read_document, read_related
from segue.integrations.shared.history import ExternalSession, OpenedTranscript, find_files, session_in_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_LIST = "sessions.json"


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CONTINUE_GLOBAL_DIR") or home / ".continue") / "sessions"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    for entry in find_files(root(home, environ), 0, ".json"):
        if entry.name != _LIST:
            yield session_in_file(entry.name.removesuffix(".json"), entry)


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("continue", session.path, session.id)
    return OpenedTranscript(builder, _read(session, builder))


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    document = read_document(session.path, builder)
    items = objects_in(document, "history", builder)
    if not isinstance(document, dict):
        return
    known = objects(read_related(str(Path(session.path).with_name(_LIST))))
    about = next((item for item in known if item.get("sessionId") == session.id), {})
    ended = datetime_at(session.changed_at)
    started = builder.moment(as_seconds(about["dateCreated"])) if about.get("dateCreated") else ended
    yield from parse_turns(document, items, builder, started=min(started, ended), ended=ended)
