"""Commands: held by the kernel where it can, with the least of an environment, gone with all that they started."""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta, Struct

from segue.durable.descent import descend
from segue.errors import StorageError
from segue.permissions.shell_parser import NotUnderstoodError, parse
from segue.sandbox.box import ground, launch
from segue.tools.call import ToolFailedError
from segue.tools.files import split
from segue.tools.tool import PermissionRequest, ToolContext, clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from segue.permissions.confinement import Confinement

_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""What commands need to work at all. Keys and tokens are in none of these."""
_NOBODY_WATCHES = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHUNK_BYTES = 65536
_GRACE_SECONDS = 1.0
"""For a command that is told to stop, until it is killed. A launcher does that itself, and needs a moment more."""
_LAUNCHER_SECONDS = 10.0
_TICK_SECONDS = 0.1
"""How soon it is noticed that a command has ended although something that it left behind holds its output open."""


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
    argv: Sequence[str], environ: Mapping[str, str], room: ToolContext, descriptors: Sequence[int] = ()
) -> tuple[str, int | None]:
    """What it wrote, and how it ended; None if it had to be stopped."""
    process: Popen[bytes] | None = None
    try:
        with _held_back():
            process = _start(argv, environ, room, descriptors)
        output, is_over = _collect(process, room)
    finally:
        if process is not None:
            _stop(process, _LAUNCHER_SECONDS if descriptors else _GRACE_SECONDS)
    text = clipped(output.decode("utf-8", "replace"), room.limit).rstrip("\n")
    return text, process.returncode if is_over else None


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


def _start(
    argv: Sequence[str], environ: Mapping[str, str], room: ToolContext, descriptors: Sequence[int]
) -> Popen[bytes]:
    try:
        return Popen(
            argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            cwd=room.cwd,
            env=dict(environ),
            bufsize=0,
            start_new_session=True,
            pass_fds=descriptors,
        )
    except (OSError, ValueError) as error:
        raise ToolFailedError(f"it cannot be started: {getattr(error, 'strerror', None) or error}") from None


@contextmanager
def _held_back() -> Iterator[None]:
    """Let Ctrl-C and its like come a moment later: a command that is half started is one that nobody ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _collect(process: Popen[bytes], room: ToolContext) -> tuple[bytearray, bool]:
    """The beginning and the end of what it writes, and whether it ended by itself."""
    assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
    output = bytearray()
    half = room.limit * 4  # bytes that a character may take, so that what is kept is always enough
    deadline = time.monotonic() + room.timeout_seconds
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            has_ended = process.poll() is not None
            if not selector.select(0 if has_ended else _TICK_SECONDS):
                if has_ended:
                    return output, True
                continue
            data = os.read(process.stdout.fileno(), _CHUNK_BYTES)
            if not data:
                break
            output += data
            del output[half:-half]
    with suppress(TimeoutExpired):
        process.wait(max(0, deadline - time.monotonic()))
        return output, True
    return output, False


def _stop(process: Popen[bytes], grace_seconds: float) -> None:
    """End whatever is left of the group; also behind a command that ended well."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(TimeoutExpired):
            process.wait(grace_seconds)
    _signal(process, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _signal(process: Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
