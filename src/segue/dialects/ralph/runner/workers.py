"""What does the work: an AI tool of this machine, or any command that reads a prompt from its input."""

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
    """One attempt at a story, ready to be run."""

    argv: tuple[str, ...]
    stdin: str
    environ: dict[str, str] = {}
    tool: str = ""
    native_id: str = ""
    """The id of the tool's own transcript; empty if it has none."""
    passing: tuple[str, ...] = ()
    """Temporary files, needed only while it runs."""


_GRANTING = {
    "claude": "--allowedTools Bash,Edit,Write",
    "codex": "--sandbox workspace-write",
    "gemini": "--yolo",
}
"""The options with which a tool that cannot ask may run commands and write the project."""


class Worker(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def permission_hint(self) -> str:
        """What the user can do if it changed nothing, perhaps for want of permissions; empty if that is not known."""

    def prepare(self, prompt: str, *, title: str, cwd: str, environ: Mapping[str, str]) -> AgentRun: ...


class CommandWorker(Struct, frozen=True, kw_only=True):
    """A command that reads the prompt from its input and writes its answer to its output."""

    argv: tuple[str, ...]

    @property
    def name(self) -> str:
        return shlex.join([Path(self.argv[0]).name, *self.argv[1:]])

    @property
    def permission_hint(self) -> str:
        return ""

    def prepare(self, prompt: str, *, title: str, cwd: str, environ: Mapping[str, str]) -> AgentRun:  # noqa: ARG002 - a command needs only the prompt
        return AgentRun(argv=self.argv, stdin=prompt)


class ToolWorker(Struct, frozen=True, kw_only=True):
    """An AI tool; it starts a new session of its own for every attempt."""

    tool: Integration
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def permission_hint(self) -> str:
        granting = "" if self.options else _GRANTING.get(self.name, "")
        hint = f"{self.name} cannot ask for permission here; if it had none, use --with '{self.name} {granting}'"
        return hint if granting else ""

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


def find_worker(command: str, environ: Mapping[str, str], cwd: str) -> Worker:
    """The worker that a command line names: a tool with its own options, or a command. Empty means any installed tool.

    NotFoundError if it is not installed.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r:.80} is not a valid command: {error}", hint="quote it as for a shell") from None
    if not argv:
        installed = find_installed(environ)
        if not installed:
            names = ", ".join(launchable())
            raise NotFoundError(f"none of {names} is on the PATH", hint="name the agent: --with COMMAND")
        return ToolWorker(tool=installed[0])
    tool = launchable().get(argv[0])
    if tool is not None:
        if tool.find(environ) is None:
            raise NotFoundError(f"{tool.name} is not on the PATH", hint="install it, or use --with COMMAND")
        return ToolWorker(tool=tool, options=tuple(argv[1:]))
    found = str(Path(cwd, argv[0])) if "/" in argv[0] else which(argv[0], environ)
    if found is None or not os.access(found, os.X_OK):
        raise NotFoundError(f"there is no command {argv[0]!r}", hint="install it, or name it with its whole path")
    return CommandWorker(argv=(found, *argv[1:]))


def read_back(tool: str, native_id: str, *, cwd: str, environ: Mapping[str, str]) -> Transcript | SegueError | None:
    """The transcript of a tool's session; None if it has none, the error if it cannot be read."""
    integration = launchable().get(tool)
    if integration is None or not native_id:
        return None
    try:
        return integration.read_back(native_id, LaunchOptions(cwd=Path(cwd), environ=environ))
    except SegueError as error:
        return error
