"""The sessions of Cline: those of its program, and the tasks of its extension for VS Code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.cline.reader import parse_turns
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text, child, objects
from segue.integrations.shared.documents import objects_in, read_description, read_document
from segue.integrations.shared.history import ExternalSession, OpenedTranscript, find_files, session_in_file
from segue.integrations.shared.task_folders import find_tasks, is_task, read_task

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_EXTENSION = "saoudrizwan.claude-dev"
_MESSAGES = ".messages.json"
_COMPACTION = ".compaction.json"
_SUBAGENT = "__"
"""Between the id of a session and the name of a subagent."""


def root(home: Path, environ: Mapping[str, str]) -> Path:
    if folder := environ.get("CLINE_SESSION_DATA_DIR"):
        return Path(folder)
    data = environ.get("CLINE_DATA_DIR") or Path(environ.get("CLINE_DIR") or home / ".cline") / "data"
    return Path(data) / "sessions"


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    folder = root(home, environ)
    files: dict[str, list[os.DirEntry[str]]] = {}
    for entry in find_files(folder, 1, ".json"):
        files.setdefault(Path(entry.path).parent.name.partition(_SUBAGENT)[0], []).append(entry)
    for id, entries in files.items():
        main = next((entry for entry in entries if entry.name == f"{id}{_MESSAGES}"), None)
        if main is not None:
            yield session_in_file(id, main, related=[entry for entry in entries if entry is not main])
    yield from find_tasks(home, environ, _EXTENSION, folder.parent / "tasks")


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("cline", session.path, session.id)
    return OpenedTranscript(builder, read_task(builder) if is_task(session.path) else _read(session, builder))


def _read(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    path = Path(session.path)
    about = read_description(str(path.with_name(f"{session.id}.json")))
    builder.cwd = as_text(about.get("cwd"))
    builder.git_branch = as_text(child(about, "metadata", "git").get("branch"))
    builder.title = as_text(child(about, "metadata").get("title"))
    summaries = read_description(str(path.with_name(f"{session.id}{_COMPACTION}")))
    yield from _read_messages(session.path, builder, summaries)
    tip = builder.tip
    for related in session.related:
        name = Path(related).name
        if name.startswith(f"{session.id}{_SUBAGENT}") and name.endswith(_MESSAGES):
            subagent = TranscriptBuilder("cline", related, session.id)
            yield from _read_messages(related, subagent, {}, f"agent-{name[len(session.id) + 2 : -len(_MESSAGES)]}")
            builder.damages += subagent.damages
    builder.tip = tip


def _read_messages(
    path: str, builder: TranscriptBuilder, summaries: dict[str, object], side: str = ""
) -> Generator[TranscriptTurn]:
    messages = objects_in(read_document(path, builder), "messages", builder)
    after = as_text(summaries.get("source_last_message_key")).removeprefix("id:")
    yield from parse_turns(messages, builder, objects(summaries.get("messages")), after, side)
