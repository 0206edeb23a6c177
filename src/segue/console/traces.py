"""The traces of a session outside its store: they are removed before the session is deleted for good.

In this order, a crash leaves the session, and with it a way to find the traces that are left.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.console.paths import conversation_folders
from segue.console.recent import forget_session
from segue.errors import SegueError
from segue.user_folders import INDEX_NAME, cache_folder

if TYPE_CHECKING:
    from segue.library import Library


def forget(library: Library, id: str) -> None:
    """Remove a session from the index, the drafts of answers, the input history and the lists of terminals."""
    from segue.chat.drafts import Drafts
    from segue.chat.terminal.input_history import InputHistory

    folders = [folder for folder in conversation_folders() if folder.is_dir()]
    histories = [InputHistory(folder / "history.jsonl") for folder in folders]
    if any(history.exists() for history in histories):
        messages = _user_messages(library, id)
        for history in histories:
            history.forget(id, messages)
    forget_session(library.store.url, id)
    for folder in folders:
        Drafts(folder / "drafts").forget(id)
    has_copy = library.store.capabilities.shared and library.store.queries is None
    if has_copy and Path((cache := cache_folder()).path_of(INDEX_NAME)).exists():
        from segue.index import Index

        with Index(cache) as index:
            index.erase(library.store.url, id)


def _user_messages(library: Library, id: str) -> frozenset[str]:
    """What the user typed in it: lines in older histories do not name their session."""
    from segue.model import Turn

    try:
        session = library.store.examine(id).session
    except SegueError:
        return frozenset()
    turns = [turn for own in session.own_turns.values() for turn in own] if session is not None else []
    return frozenset(turn.content for turn in turns if isinstance(turn, Turn) and turn.role == "user")
