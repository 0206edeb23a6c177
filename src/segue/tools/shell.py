"""The shell tool: runs commands in a sandbox where the kernel has one, and ends all processes that they start."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta, Struct

from segue import process
from segue.durable.descent import descend
from segue.errors import StorageError
from segue.permissions.shell_parser import UnsupportedShellError, parse_shell
from segue.sandbox.policy import find_support, prepare_command
from segue.tools.call import ToolFailedError
from segue.tools.text_file import split_path
from segue.tools.tool import PermissionRequest, ToolContext, clip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from segue.permissions.confinement import Confinement

_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""The variables that commands need to work. None of them holds keys or tokens."""
_NON_INTERACTIVE = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_LAUNCHER_SECONDS = 10.0
"""The time between SIGTERM and SIGKILL for the sandbox launcher, which ends its command itself."""


class RunShell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run a command in sh without input, and return its output. All processes that it starts end with it."""

    command: Annotated[str, Meta(min_length=1)]

    may_change: ClassVar[bool] = True

    @property
    def request(self) -> PermissionRequest:
        return PermissionRequest("shell", self.command)

    def run(self, context: ToolContext, path: str) -> str:
        del path
        if context.confinement is None:
            return _report(*_run(("/bin/sh", "-c", self.command), _minimal_environ(context.environ), context), context)
        return self._run_confined(context, context.confinement)

    def _run_confined(self, context: ToolContext, confinement: Confinement) -> str:
        watched = confinement.protected_names()
        with ExitStack() as reserved:
            read, write = self._redirections(context, confinement, reserved)
            policy = confinement.policy(read=read, write=write)
            with prepare_command(
                ("/bin/sh", "-c", self.command), policy, cwd=context.cwd, support=find_support()
            ) as start:
                environ = _minimal_environ(context.environ) | start.environ
                output, code = _run(start.argv, environ, context, start.descriptors)
                if code is not None and (reason := start.failure()):
                    raise ToolFailedError(f"it cannot be started: {reason}")
        notes = confinement.set_aside(watched)
        if code:
            notes.append("it ran in a sandbox without network and without access to files out of scope")
        return _report(output, code, context, notes)

    def _redirections(
        self, context: ToolContext, confinement: Confinement, reserved: ExitStack
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files of redirections, which the guard checked with the command, and which are in no open folder."""
        paths: dict[bool, list[str]] = {True: [], False: []}
        with suppress(UnsupportedShellError, StorageError):
            for command in parse_shell(self.command):
                for one in command.redirections:
                    path = confinement.resolve(one.path)
                    if confinement.covers(path) or not (context.may_write if one.writes else context.may_read)(path):
                        continue
                    if one.writes:  # the kernel cannot allow to create this file and no other
                        folder, name = split_path(path)
                        reserved.enter_context(reserved.enter_context(descend(folder)).reserved(name))
                    paths[one.writes].append(path)
        return tuple(paths[False]), tuple(paths[True])


def is_git(command: str) -> bool:
    """Whether a command runs git, as far as it can be parsed."""
    with suppress(UnsupportedShellError):
        return any("git" in one.words for one in parse_shell(command))
    return False


def _minimal_environ(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _INHERITED if name in environ} | _NON_INTERACTIVE


def _run(
    argv: Sequence[str], environ: Mapping[str, str], context: ToolContext, pass_fds: Sequence[int] = ()
) -> tuple[str, int | None]:
    """Return the output and the exit code, which is None if the command had to be stopped."""
    output = bytearray()
    half = context.limit * 4  # a character takes up to 4 bytes, so this is always enough
    with ExitStack() as stack:
        try:
            running = stack.enter_context(
                process.start(
                    argv,
                    cwd=context.cwd,
                    environ=environ,
                    merges_errors=True,
                    pass_fds=pass_fds,
                    grace_seconds=_LAUNCHER_SECONDS if pass_fds else process.GRACE_SECONDS,
                    ends_group=True,
                )
            )
        except (OSError, ValueError) as error:
            raise ToolFailedError(f"it cannot be started: {getattr(error, 'strerror', None) or error}") from None
        for data, _ in running.read(timeout_seconds=context.timeout_seconds):
            output += data
            del output[half:-half]
    return clip(output.decode("utf-8", "replace"), context.limit).rstrip("\n"), running.code


def _report(text: str, code: int | None, context: ToolContext, notes: Sequence[str] = ()) -> str:
    lines = [text] if text else []
    if code is None:
        lines.append(f"[stopped: it ran for more than {context.timeout_seconds:g} seconds]")
    elif code:
        lines.append(f"[exit code {code}]")
    report = "\n".join([*lines, *(f"[{line}]" for line in notes)])
    if code != 0:
        raise ToolFailedError(report)
    return report or "[no output, exit code 0]"
