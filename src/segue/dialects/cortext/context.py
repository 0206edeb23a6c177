"""What the commands need: the workspace that the current folder is in, its conversations, and the user's machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.paths import trust_folder
from segue.console.surface import here
from segue.console.traces import forget
from segue.dialects.cortext.conversations import open_conversations
from segue.dialects.cortext.workspace import find_workspace
from segue.errors import NotFoundError, SegueError
from segue.library import Library
from segue.library import open as open_library
from segue.trust import Trust

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from segue.dialects.cortext.workspace import Workspace
    from segue.session import LiveSession
    from segue.transfer.linked_session import LinkedSession
    from segue.trust import Marks


_MOST_SHOWN = 3
STARTS = "starts"
"""The name of the mark that lets an AI tool be started."""


class WorkspaceContext:
    """One workspace, its conversations, and the machine on which the command runs."""

    def __init__(self, *, commit: bool = True) -> None:
        self.cwd = here()
        self.home = Path.home()
        self.environ = os.environ
        self.workspace = _find_workspace(self.cwd)
        self.library = Library(open_library(self.workspace.url).store, forget=forget)
        self.conversations = open_conversations(
            self.workspace,
            self.library,
            environ=self.environ,
            home=self.home,
            notify=output.warn,
            commit=commit,
        )
        self._refresh_commands()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.library.close()

    def marks_of(self, id: str) -> Marks:
        """What the user set or agreed to here about a conversation; about the workspace if the id is empty."""
        return marks_of(self.library.store.url, id)

    def vouch(self, session: LiveSession, link: LinkedSession, *, is_whole: bool = True) -> None:
        """Remember that the user of this machine chose this AI tool for the conversation.

        With `is_whole`, the session of the tool has nothing else in it.
        """
        marks = self.marks_of(session.id)
        if is_whole:
            link.record(marks, session.overview.created_at)
        else:
            link.vouch(marks)
        marks.put(STARTS, link.tool)

    @property
    def history(self) -> Path:
        """The file with the lines that the user typed."""
        return self.home / ".cortext" / "history.jsonl"

    def _refresh_commands(self) -> None:
        """Let changed types reach the slash commands; failing to write them does not stop the command."""
        from segue.dialects.cortext.command_files import refresh

        own_folder, _ = self.workspace.type_folders
        try:
            done = refresh(self.workspace.root, self.workspace.types(), own_folder)
        except SegueError as error:
            output.warn(f"the slash commands were not updated: {error}")
            return
        if done.written:
            more = f" and {len(done.written) - _MOST_SHOWN} more" if len(done.written) > _MOST_SHOWN else ""
            output.warn(f"the slash commands follow the types: updated {', '.join(done.written[:_MOST_SHOWN])}{more}")
            for skipped in done.skipped:
                output.warn(f"left unchanged: {skipped}")


def marks_of(url: str, id: str = "") -> Marks:
    return Trust(trust_folder()).of(url, id)


def _find_workspace(cwd: Path) -> Workspace:
    found = find_workspace(cwd)
    if found is None:
        raise NotFoundError(f"{cwd} is not in a workspace", hint="cortext init makes one here")
    return found
