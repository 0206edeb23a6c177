"""The sessions of releases before 1.2, which had no database: one JSON file for each session, message and part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.formats.records import BadRecordError
from segue.integrations.format.transcript import parse_record
from segue.integrations.format.values import as_text, child
from segue.integrations.opencode.reader import Message, MessageReader, title_of, without_undone
from segue.integrations.shared.history import ExternalSession, find_files, session_in_file
from segue.integrations.shared.session_files import read_file
from segue.integrations.shared.subagents import descendants, find_tops

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.model import JsonObject

_LARGEST_BYTES = 64 << 20
"""The size of a file that is read."""


def list_sessions(storage: Path) -> Iterator[ExternalSession]:
    """Those that no agent started for another one."""
    entries = {entry.name.removesuffix(".json"): entry for entry in find_files(storage / "session", 1, ".json")}
    titles: dict[str, str] = {}
    parents: dict[str, str] = {}
    for id, entry in entries.items():
        info = _read_json(Path(entry.path))
        titles[id], parents[id] = title_of(info.get("title")), as_text(info.get("parentID"))
    agents: dict[str, list[os.DirEntry[str]]] = {}
    for id, top in find_tops(parents).items():
        agents.setdefault(top, []).append(entries[id])
    for id, found in agents.items():
        messages = find_files(storage / "message" / id, 0, ".json")
        others = (entry for entry in found if entry is not entries[id])
        yield session_in_file(id, entries[id], related=[*messages, *others], title=titles[id])


def read_session(session: ExternalSession, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    path = Path(session.path)
    storage = path.parents[2]
    info = _read_json(path, builder)
    builder.cwd = as_text(info.get("directory"))
    readers = {session.id: MessageReader(builder)}
    yield from readers[session.id].turns(_messages(storage, session.id, builder, child(info, "revert")))
    agents = {path.stem: path for path in map(Path, session.related) if path.parents[1] == storage / "session"}
    children: dict[str, list[str]] = {}
    for id, place in agents.items():
        children.setdefault(as_text(_read_json(place).get("parentID")), []).append(id)
    for id, parent in descendants(session.id, lambda parent: children.get(parent, ())):
        inner = type(builder)(builder.tool, str(agents[id]), id)
        inner.damages = builder.damages
        readers[id] = readers[parent].of_subagent(inner, id)
        yield from readers[id].turns(_messages(storage, id, inner, {}))


def _messages(storage: Path, id: str, builder: TranscriptBuilder, revert: JsonObject) -> Iterator[Message]:
    is_undone = False
    for entry in find_files(storage / "message" / id, 0, ".json"):
        name = entry.name.removesuffix(".json")
        info = {**_read_json(Path(entry.path), builder), "id": name}
        parts = [
            {**_read_json(Path(part.path), builder), "id": part.name.removesuffix(".json")}
            for part in find_files(storage / "part" / name, 0, ".json")
        ]
        is_named = name == revert.get("messageID")
        is_undone = is_undone or is_named
        if is_named and revert.get("partID"):
            yield from without_undone(info, parts, as_text(revert["partID"]))
        else:
            yield Message(info, parts, is_undone)


def _read_json(path: Path, builder: TranscriptBuilder | None = None) -> JsonObject:
    """The object in a file; empty if there is none, which is a damage of the transcript."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise BadRecordError("it is too long to read")
        data = read_file(path)
        found = parse_record(data)
    except (BadRecordError, OSError, SegueError) as error:
        if builder is not None:
            builder.damage(f"{path.name:.80}: {error}")
        return {}
    if builder is not None:
        builder.read_bytes += len(data)
    return found if isinstance(found, dict) else {}
