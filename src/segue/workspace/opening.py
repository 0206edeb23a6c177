"""The conversations of a workspace, with all that the machine at hand has for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from segue.git import find_repository, is_trusted
from segue.tools.mcp import mcp_servers
from segue.workspace.conversations import Conversations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from segue.durable.folder import Folder
    from segue.git import Repository
    from segue.library import Library
    from segue.model import Turn
    from segue.trust import Trust
    from segue.workspace.place import Workspace


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
    tell: Callable[[str], None],
) -> Conversations:
    """Those of a workspace on this machine; `commit` is false where git is to be left alone, whatever it says.

    `trust` knows whether the repository is one that may run its own hooks.
    """

    def mcp_tools(tool: str) -> Sequence[str]:
        found = mcp_servers(tool, workspace.root, home, environ)
        for problem in found.problems:
            tell(str(problem))
        return found.names

    wants_commit = commit and workspace.config.commit
    return Conversations(
        workspace,
        library,
        repository=_find_repository(workspace.root, environ, trust) if wants_commit else None,
        summarise=summarise,
        mcp_tools=mcp_tools,
        tell=tell,
        cache=cache,
    )


def _find_repository(root: Path, environ: Mapping[str, str], trust: Trust) -> Repository | None:
    found = find_repository(root, environ=environ)
    return None if found is None else replace(found, trusted=is_trusted(found.place, trust))
