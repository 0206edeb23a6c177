"""A new workspace: its folder, a git repository around it, and the slash commands for AI tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.paths import trust_folder
from segue.console.surface import here
from segue.dialects.cortext.command_files import TOOLS, command_files, install
from segue.dialects.cortext.context import STARTS, marks_of
from segue.dialects.cortext.workspace import make_workspace
from segue.git import (
    TIMEOUT_SECONDS,
    Git,
    find_location,
    find_programs,
    find_repository,
    is_trusted,
    make_repository,
    trust_repository,
)
from segue.trust import Trust

if TYPE_CHECKING:
    from pathlib import Path

    from segue.dialects.cortext.workspace import Workspace
    from segue.git import RepositoryLocation

_SHOWN_PROGRAMS = 8


def init_workspace(folder: Path, tools: tuple[str, ...], *, git: bool, trust: bool) -> int:
    """Make a folder a workspace; `trust` lets git run the hooks and filters of its repository without a question."""
    from segue.integrations import find_installed

    for name in tools:
        command_files(name, ())  # an unknown one fails before anything is made
    workspace = make_workspace(here() / folder, tool=tools[0] if len(tools) == 1 else "")
    output.line(f"Workspace: {workspace.root}")
    if workspace.config.tool in tools:
        marks_of(workspace.url).put(STARTS, workspace.config.tool)
    if git:
        _set_up_repository(workspace, trust=trust)
    found = tools or tuple(tool.name for tool in find_installed(os.environ) if tool.name in TOOLS)
    for name in found:
        _install(workspace, name)
    if not found:
        output.line(f"No AI tool was found; --tool NAME adds the slash commands for one ({', '.join(TOOLS)})")
    output.line('Start with: cortext new brainstorm "topic"')
    return Exit.DONE


def _install(workspace: Workspace, tool: str) -> None:
    types = workspace.types()
    for problem in types.problems:
        output.warn(str(problem))
    done = install(workspace.root, command_files(tool, types))
    output.line(f"Slash commands for {tool}: {len(done.written)} written, {len(done.unchanged)} up to date")
    for skipped in done.skipped:
        output.warn(f"left unchanged: {skipped}")


def _set_up_repository(workspace: Workspace, *, trust: bool) -> None:
    """Create a repository unless there is one; a workspace also works without git."""
    found = find_repository(workspace.root, environ=os.environ)
    if found is not None:
        if found.location is not None:
            _ask_for_trust(found.location, trust=trust)
        return
    try:
        ended = make_repository(workspace.root, os.environ, timeout_seconds=TIMEOUT_SECONDS)
    except OSError:
        output.warn("git is not installed, so conversations are not committed")
        return
    place = find_location(workspace.root)
    if ended.code != 0 or place is None:
        output.warn(f"git created no repository, so conversations are not committed: {ended.errors.strip():.200}")
        return
    trust_repository(place, Trust(trust_folder()))
    output.line("Git repository: created")


def _ask_for_trust(place: RepositoryLocation, *, trust: bool) -> None:
    """A repository from elsewhere can name programs for git to run: show them, and ask before they may run."""
    marks = Trust(trust_folder())
    if is_trusted(place, marks):
        return
    try:
        programs = find_programs(Git(location=place, environ=os.environ, timeout_seconds=TIMEOUT_SECONDS))
    except OSError:
        output.warn("git is not installed, so conversations are not committed")
        return
    if programs and not trust:
        more = f" and {len(programs) - _SHOWN_PROGRAMS} more" if len(programs) > _SHOWN_PROGRAMS else ""
        output.warn(f"{place.root} has its own hooks or settings: {', '.join(programs[:_SHOWN_PROGRAMS])}{more}")
        question = "Let git run the programs they name when a conversation is committed?"
        if not (output.stdin_is_tty() and output.confirm(question, yes=False)):
            output.line("Conversations are committed without running them; cortext init --trust lets them run")
            return
    trust_repository(place, marks)
