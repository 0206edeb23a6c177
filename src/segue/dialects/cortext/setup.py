"""A new workspace: its folder, a git repository around it, and the slash commands of the AI tools."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.exits import Exit
from segue.dialects.cortext.desk import STARTS, marks_of
from segue.dialects.door import here
from segue.git import find_repository
from segue.workspace.command_files import TOOLS, command_files, install
from segue.workspace.place import make_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from segue.workspace import Workspace


def set_up(folder: Path, tools: tuple[str, ...], *, git: bool) -> int:
    from segue.tools import find_tools

    for name in tools:
        command_files(name, ())  # whoever misspelt one is told before anything is made
    workspace = make_workspace(here() / folder, tool=tools[0] if len(tools) == 1 else "")
    output.line(f"Workspace: {workspace.root}")
    if workspace.config.tool in tools:
        marks_of(workspace.url).put(STARTS, workspace.config.tool)
    if git:
        _make_repository(workspace)
    found = tools or tuple(tool.name for tool in find_tools(os.environ) if tool.name in TOOLS)
    for name in found:
        _install(workspace, name)
    if not found:
        output.line(f"No AI tool was found here; --tool NAME adds the slash commands for one ({', '.join(TOOLS)})")
    output.line('Begin with: cortext new brainstorm "topic"')
    return Exit.DONE


def _install(workspace: Workspace, tool: str) -> None:
    types = workspace.types()
    for problem in types.problems:
        output.warn(str(problem))
    done = install(workspace.root, command_files(tool, types))
    output.line(f"Slash commands for {tool}: {len(done.written)} written, {len(done.unchanged)} there already")
    for kept in done.kept:
        output.warn(f"left as it is: {kept}")


def _make_repository(workspace: Workspace) -> None:
    """Unless there is one; a workspace works without git all the same."""
    if find_repository(workspace.root, environ=os.environ) is not None:
        return
    try:
        done = subprocess.run(
            ["git", "init", "--quiet"], cwd=workspace.root, capture_output=True, text=True, check=False
        )
    except OSError:
        output.warn("there is no git here, so conversations are kept and not committed")
        return
    if done.returncode != 0:
        output.warn(f"git made no repository, so conversations are kept and not committed: {done.stderr.strip():.200}")
    else:
        output.line("Git repository: made")
