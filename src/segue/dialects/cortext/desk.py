"""All that the commands need, found in the workspace that one is in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from segue.chat.summary import summarize
from segue.console import output
from segue.console.places import cache_folder
from segue.dialects.door import ToolLibrary, here
from segue.errors import NotFoundError
from segue.library import open as open_library
from segue.workspace import find_workspace, open_conversations

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from segue.workspace import Workspace


class Desk:
    """One workspace, its conversations, and the machine that they are held on."""

    def __init__(self, *, commit: bool = True) -> None:
        self.cwd = here()
        self.home = Path.home()
        self.environ = os.environ
        self.workspace = _workspace(self.cwd)
        self.library = ToolLibrary(
            open_library(self.workspace.url).store, lists="cortext list", resumes="cortext resume"
        )
        self.conversations = open_conversations(
            self.workspace,
            self.library,
            environ=self.environ,
            home=self.home,
            commit=commit,
            cache=cache_folder(),
            summarise=summarize,
            tell=output.warn,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.library.close()

    @property
    def history(self) -> Path:
        """Of what was typed."""
        return self.home / ".cortext" / "history.jsonl"


def _workspace(cwd: Path) -> Workspace:
    found = find_workspace(cwd)
    if found is None:
        raise NotFoundError(f"{cwd} is in no workspace", hint="cortext init makes one here")
    return found
