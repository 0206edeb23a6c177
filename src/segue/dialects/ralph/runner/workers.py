"""Whoever does the work: an AI tool of this machine, or any command that reads its input."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from segue.errors import NotFoundError, SegueError, UsageError
from segue.integrations import HandoverContext, Integration, LaunchOptions, find_installed
from segue.integrations.registry import launchable
from segue.process import which

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segue.integrations.format.transcript import Transcript


class AgentRun(Struct, frozen=True, kw_only=True):
    """One attempt, ready to be run."""

    argv: tuple[str, ...]
    stdin: str
    """On its input."""
    environ: dict[str, str] = {}
    tool: str = ""
    native_id: str = ""
    """By which the tool's own transcript is found; empty if it keeps none."""
    passing: tuple[str, ...] = ()
    """Files that are needed only while it runs."""


class Worker(Protocol):
    @property
    def name(self) -> str: ...

    def prepare(self, prompt: str, *, title: str, cwd: str, environ: Mapping[str, str]) -> AgentRun: ...


class CommandWorker(Struct, frozen=True, kw_only=True):
    """Gets the prompt on its input; what it writes is its answer."""

    argv: tuple[str, ...]

    @property
    def name(self) -> str:
        return shlex.join([Path(self.argv[0]).name, *self.argv[1:]])

    def prepare(self, prompt: str, *, title: str, cwd: str, environ: Mapping[str, str]) -> AgentRun:  # noqa: ARG002 - it needs no more
        return AgentRun(argv=self.argv, stdin=prompt)


class ToolWorker(Struct, frozen=True, kw_only=True):
    """Begins a session of its own for every attempt, so that each begins with a clear head."""

    tool: Integration
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.tool.name

    def prepare(self, prompt: str, *, title: str, cwd: str, environ: Mapping[str, str]) -> AgentRun:
        options = LaunchOptions(cwd=Path(cwd), environ=environ, prompt=prompt, headless=True, arguments=self.options)
        launch = self.tool.launch(HandoverContext(title=title), options)
        return AgentRun(
            argv=launch.argv,
            stdin=launch.stdin or "",
            environ=launch.environ,
            tool=launch.tool,
            native_id=launch.native_id,
            passing=launch.temporary,
        )


def find_worker(words: str, environ: Mapping[str, str], cwd: str) -> Worker:
    """By the name of a tool, with options of its own behind it, or by a command; the first tool there is for no words.

    NotFoundError if it is not on this machine.
    """
    try:
        argv = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"{words!r:.80} is no command: {error}", hint="quote it as for a shell") from None
    if not argv:
        there = find_installed(environ)
        if not there:
            known = ", ".join(launchable())
            raise NotFoundError(f"none of {known} is on the PATH", hint="say who does the work: --with COMMAND")
        return ToolWorker(tool=there[0])
    tool = launchable().get(argv[0])
    if tool is not None:
        if tool.find(environ) is None:
            raise NotFoundError(f"{tool.name} is not on the PATH", hint="install it, or say --with COMMAND")
        return ToolWorker(tool=tool, options=tuple(argv[1:]))
    found = str(Path(cwd, argv[0])) if "/" in argv[0] else which(argv[0], environ)
    if found is None or not os.access(found, os.X_OK):
        raise NotFoundError(f"there is no command {argv[0]!r}", hint="install it, or name it with its whole path")
    return CommandWorker(argv=(found, *argv[1:]))


def read_back(tool: str, native_id: str, *, cwd: str, environ: Mapping[str, str]) -> Transcript | SegueError | None:
    """What was said in a tool, by its own transcript; None if it keeps none, the reason if that cannot be read."""
    known = launchable().get(tool)
    if known is None or not native_id:
        return None
    try:
        return known.read_back(native_id, LaunchOptions(cwd=Path(cwd), environ=environ))
    except SegueError as error:
        return error
