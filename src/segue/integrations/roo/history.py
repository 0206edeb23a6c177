"""The tasks of Roo Code, in every editor that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.shared.history import ExternalSession, OpenedTranscript
from segue.integrations.shared.task_folders import find_tasks, read_task, task_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_EXTENSION = "rooveterinaryinc.roo-cline"


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return task_folder(home, environ, _EXTENSION)


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    return find_tasks(home, environ, _EXTENSION)


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("roo", session.path, session.id)
    return OpenedTranscript(builder, read_task(builder))
