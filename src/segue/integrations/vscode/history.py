"""The chats of VS Code, Insiders and VSCodium: those of each workspace, and those without one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text
from segue.integrations.shared.documents import objects_in, read_description, read_document
from segue.integrations.shared.editor_folders import VSCODE, user_folders
from segue.integrations.shared.history import (
    ExternalSession,
    OpenedTranscript,
    find_files,
    mentions,
    open_lines,
    session_in_file,
)
from segue.integrations.vscode.change_log import ChangedDocument, read_changes
from segue.integrations.vscode.reader import parse_turns

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn

_WORKSPACES, _CHATS = "workspaceStorage", "chatSessions"
_WITHOUT_WORKSPACE = ("emptyWindowChatSessions", "transferredChatSessions")


def root(home: Path, environ: Mapping[str, str]) -> Path:
    folders = user_folders(home, environ, VSCODE)
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    """Of a chat that was stored as a document and then as a log, the log is newer. Empty ones are left out."""
    newest: dict[str, os.DirEntry[str]] = {}
    for folder in user_folders(home, environ, VSCODE):
        for entry in _files(folder):
            id = entry.name.rpartition(".")[0]
            if (id not in newest or entry.name.endswith(".jsonl")) and mentions(entry, b'"requestId"'):
                newest[id] = entry
    for id, entry in newest.items():
        yield session_in_file(id, entry)


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("vscode", session.path, session.id)
    return OpenedTranscript(builder, _read(session.path, builder))


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    for entry in find_files(folder / _WORKSPACES, 2, ".json", ".jsonl"):
        if Path(entry.path).parent.name == _CHATS:
            yield entry
    for name in _WITHOUT_WORKSPACE:
        yield from find_files(folder / "globalStorage" / name, 0, ".json", ".jsonl")


def _read(path: str, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    if Path(path).parent.name == _CHATS:
        about = read_description(str(Path(path).parents[1] / "workspace.json"))
        builder.cwd = _folder(as_text(about.get("folder") or about.get("workspace")))
    if path.endswith(".jsonl"):
        with open_lines(path) as lines:
            found = read_changes(lines, builder)
    else:
        found = ChangedDocument(read_document(path, builder), {})
    requests = objects_in(found.value, "requests", builder)
    if isinstance(found.value, dict):
        yield from parse_turns(found.value, requests, found.removed, builder)


def _folder(address: str) -> str:
    """The path in the address of a folder on this machine; empty for any other address."""
    try:
        found = urlsplit(address)
    except ValueError:
        return ""
    return unquote(found.path) if found.scheme == "file" and not found.netloc else ""
