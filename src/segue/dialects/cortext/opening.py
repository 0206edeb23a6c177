"""The conversations of a workspace, with all that the machine at hand has for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from segue.dialects.cortext.conversations import Conversations
from segue.dialects.cortext.workspace import find_workspace
from segue.git import find_repository, is_trusted
from segue.integrations import INTEGRATIONS
from segue.integrations.shared.mcp_config import find_mcp_servers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from segue.dialects.cortext.workspace import Workspace
    from segue.durable.folder import Folder
    from segue.git import Repository
    from segue.library import Library
    from segue.model import Turn
    from segue.trust import Trust


def open_conversations(
    workspace: Workspace,
    library: Library,
    *,
    environ: Mapping[str, str],
    home: Path,
    trust: Trust,
    commit: bool = True,
    cache: Folder | None = None,
    summarise: Callable[[Sequence[Turn]], str],
    notify: Callable[[str], None],
) -> Conversations:
    """Those of a workspace on this machine; `commit` is false where git is to be left alone, whatever it says.

    `trust` knows whether the repository is one that may run its own hooks.
    """

    def mcp_tools(tool: str) -> Sequence[str]:
        found = find_mcp_servers(INTEGRATIONS.get(tool), workspace.root, home, environ)
        for problem in found.problems:
            notify(str(problem))
        return found.names

    wants_commit = commit and workspace.config.commit
    return Conversations(
        workspace,
        library,
        repository=_find_repository(workspace.root, environ, trust) if wants_commit else None,
        summarise=summarise,
        mcp_tools=mcp_tools,
        notify=notify,
        cache=cache,
    )


def find_conversations(cwd: Path, *, notify: Callable[[str], None]) -> Conversations | None:
    """Those of the workspace that a folder is in, as this machine is configured; None outside of a workspace."""
    import os
    from pathlib import Path

    from segue.chat.summary import summarize
    from segue.console.paths import trust_folder
    from segue.library import open as open_library
    from segue.trust import Trust
    from segue.user_folders import cache_folder

    workspace = find_workspace(cwd)
    if workspace is None:
        return None
    return open_conversations(
        workspace,
        open_library(workspace.url),
        environ=os.environ,
        home=Path.home(),
        trust=Trust(trust_folder()),
        cache=cache_folder(),
        summarise=summarize,
        notify=notify,
    )


def _find_repository(root: Path, environ: Mapping[str, str], trust: Trust) -> Repository | None:
    found = find_repository(root, environ=environ)
    return None if found is None else replace(found, trusted=is_trusted(found.location, trust))
