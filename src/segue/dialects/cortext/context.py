"""All that the commands need, found in the workspace that one is in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from segue.chat.summary import summarize
from segue.console import output
from segue.console.paths import trust_folder
from segue.console.traces import forget
from segue.dialects.cortext.opening import open_conversations
from segue.dialects.cortext.workspace import find_workspace
from segue.dialects.resuming import here
from segue.errors import NotFoundError
from segue.library import Library
from segue.library import open as open_library
from segue.trust import Trust
from segue.user_folders import cache_folder

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from segue.dialects.cortext.workspace import Workspace
    from segue.session import LiveSession
    from segue.transfer.linked_session import LinkedSession
    from segue.trust import Marks


STARTS = "starts"
"""What a mark is called that lets a tool be started."""


class WorkspaceContext:
    """One workspace, its conversations, and the machine that they are held on."""

    def __init__(self, *, commit: bool = True) -> None:
        self.cwd = here()
        self.home = Path.home()
        self.environ = os.environ
        self.workspace = _workspace(self.cwd)
        self.library = Library(open_library(self.workspace.url).store, forget=forget)
        self.conversations = open_conversations(
            self.workspace,
            self.library,
            environ=self.environ,
            home=self.home,
            trust=Trust(trust_folder()),
            commit=commit,
            cache=cache_folder(),
            summarise=summarize,
            notify=output.warn,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.library.close()

    def marks_of(self, id: str) -> Marks:
        """What was set or agreed to here about a conversation; about the workspace, where there is no id."""
        return marks_of(self.library.store.url, id)

    def vouch(self, session: LiveSession, link: LinkedSession) -> None:
        """Remember that the conversation is held in a tool because somebody here says so."""
        marks = self.marks_of(session.id)
        link.vouch(marks)
        marks.put(STARTS, link.tool)

    @property
    def history(self) -> Path:
        """Of what was typed."""
        return self.home / ".cortext" / "history.jsonl"


def marks_of(url: str, id: str = "") -> Marks:
    return Trust(trust_folder()).of(url, id)


def _workspace(cwd: Path) -> Workspace:
    found = find_workspace(cwd)
    if found is None:
        raise NotFoundError(f"{cwd} is in no workspace", hint="cortext init makes one here")
    return found
