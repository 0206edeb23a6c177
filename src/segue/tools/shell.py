"""Commands: held by the kernel where it can, with the least of an environment, gone with all that they started."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta, Struct

from segue import process
from segue.durable.descent import descend
from segue.errors import StorageError
from segue.permissions.shell_parser import NotUnderstoodError, parse
from segue.sandbox.box import ground, launch
from segue.tools.call import ToolFailedError
from segue.tools.files import split
from segue.tools.tool import PermissionRequest, ToolContext, clipped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from segue.permissions.confinement import Confinement

_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""What commands need to work at all. Keys and tokens are in none of these."""
_NOBODY_WATCHES = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_LAUNCHER_SECONDS = 10.0
"""For a launcher that is told to stop, until it is killed: it ends its command itself, and needs a moment more."""


class RunShell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run a command in sh, without input; you get what it writes. Nothing that it starts outlives it."""

    command: Annotated[str, Meta(min_length=1)]

    changes: ClassVar[bool] = True

    @property
    def wish(self) -> PermissionRequest:
        return PermissionRequest("shell", self.command)

    def run(self, room: ToolContext, place: str) -> str:
        del place
        if room.confinement is None:
            return _told(*_run(("/bin/sh", "-c", self.command), least(room.environ), room), room)
        return self._run_confined(room, room.confinement)

    def _run_confined(self, room: ToolContext, confinement: Confinement) -> str:
        watched = confinement.watched()
        with ExitStack() as made:
            read, write = self._redirections(room, confinement, made)
            box = confinement.box(read=read, write=write)
            with launch(("/bin/sh", "-c", self.command), box, cwd=room.cwd, on=ground()) as start:
                environ = least(room.environ) | start.environ
                output, code = _run(start.argv, environ, room, start.descriptors)
                if code is not None and (reason := start.failure()):
                    raise ToolFailedError(f"it cannot be started: {reason}")
        aside = confinement.set_aside(watched)
        if code:
            aside.append("it ran in a sandbox, where the network and what is out of scope are closed")
        return _told(output, code, room, aside)

    def _redirections(
        self, room: ToolContext, confinement: Confinement, made: ExitStack
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Files that the line names, which were judged with it, and which no tree covers."""
        paths: dict[bool, list[str]] = {True: [], False: []}
        with suppress(NotUnderstoodError, StorageError):
            for part in parse(self.command):
                for one in part.redirections:
                    path = confinement.place_of(one.path)
                    if confinement.covers(path) or not (room.may_write if one.writes else room.may_read)(path):
                        continue
                    if one.writes:  # the kernel cannot let somebody make this file and no other
                        folder, name = split(path)
                        made.enter_context(made.enter_context(descend(folder)).reserved(name))
                    paths[one.writes].append(path)
        return tuple(paths[False]), tuple(paths[True])


def is_git(command: str) -> bool:
    """Whether a line runs git, as far as it is understood."""
    with suppress(NotUnderstoodError):
        return any("git" in part.words for part in parse(command))
    return False


def least(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _KEPT if name in environ} | _NOBODY_WATCHES


def _run(
    argv: Sequence[str], environ: Mapping[str, str], room: ToolContext, pass_fds: Sequence[int] = ()
) -> tuple[str, int | None]:
    """What it wrote, and how it ended; None if it had to be stopped."""
    output = bytearray()
    half = room.limit * 4  # bytes that a character may take, so that what is left is always enough
    with ExitStack() as stack:
        try:
            running = stack.enter_context(
                process.start(
                    argv,
                    cwd=room.cwd,
                    environ=environ,
                    merges_errors=True,
                    pass_fds=pass_fds,
                    grace_seconds=_LAUNCHER_SECONDS if pass_fds else process.GRACE_SECONDS,
                    ends_group=True,
                )
            )
        except (OSError, ValueError) as error:
            raise ToolFailedError(f"it cannot be started: {getattr(error, 'strerror', None) or error}") from None
        for data, _ in running.read(timeout_seconds=room.timeout_seconds):
            output += data
            del output[half:-half]
    return clipped(output.decode("utf-8", "replace"), room.limit).rstrip("\n"), running.code


def _told(text: str, code: int | None, room: ToolContext, more: Sequence[str] = ()) -> str:
    lines = [text] if text else []
    if code is None:
        lines.append(f"[stopped: it ran for more than {room.timeout_seconds:g} seconds]")
    elif code:
        lines.append(f"[exit code {code}]")
    told = "\n".join([*lines, *(f"[{line}]" for line in more)])
    if code != 0:
        raise ToolFailedError(told)
    return told or "[it wrote nothing, and ended well]"
