"""The tasks of Cline and Roo Code in an editor: one folder per task, in the folder of the extension."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.format.task_messages import parse_task_turns
from segue.integrations.format.values import as_text, objects
from segue.integrations.shared.documents import read_description, read_document, read_related
from segue.integrations.shared.editor_folders import user_folders
from segue.integrations.shared.history import find_files, session_in_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.integrations.shared.history import ExternalSession
    from segue.model import JsonObject

_HISTORY = "api_conversation_history.json"
_RELATED = ("history_item.json", "ui_messages.json", "task_metadata.json")


def task_folder(home: Path, environ: Mapping[str, str], extension: str) -> Path:
    """Where the extension stores its tasks: in the first editor that has it, or in VS Code."""
    folders = [folder / "globalStorage" / extension / "tasks" for folder in user_folders(home, environ)]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def find_tasks(home: Path, environ: Mapping[str, str], extension: str, *more: Path) -> Iterator[ExternalSession]:
    """The tasks of an extension in all editors, and in these folders."""
    known: set[str] = set()
    editors = [folder / "globalStorage" / extension / "tasks" for folder in user_folders(home, environ)]
    for folder in (*editors, *more):
        for entry in find_files(folder, 1, _HISTORY):
            task = Path(entry.path).parent
            if entry.name == _HISTORY and task.name not in known:
                known.add(task.name)
                related = [other for other in find_files(task, 0, ".json") if other.name in _RELATED]
                yield session_in_file(task.name, entry, related=related)


def is_task(path: str) -> bool:
    return Path(path).name == _HISTORY


def read_task(builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
    """The turns of a task, whose file is the place of the builder."""
    path = Path(builder.place)
    about = _describe(path.parent)
    builder.cwd = as_text(about.get("workspace") or about.get("cwdOnTaskInitialization"))
    builder.title = " ".join(as_text(about.get("task")).split())[:200]
    history = read_document(builder.place, builder)
    if not isinstance(history, list):
        if history is not None:
            builder.damage("it is JSON, but not a list")
        return
    shown = objects(read_related(str(path.with_name("ui_messages.json"))))
    yield from parse_task_turns(objects(history), shown, builder)


def _describe(task: Path) -> JsonObject:
    """What the extension has noted of a task: next to it, or in a list of all tasks."""
    if found := read_description(str(task / "history_item.json")):
        return found
    everything = objects(read_related(str(task.parents[1] / "state" / "taskHistory.json")))
    return next((item for item in everything if item.get("id") == task.name), {})
