"""Runs one command of the orchestrator, an agent or a verification, and passes on what it writes as it comes."""

from __future__ import annotations

import codecs
from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from segue import process
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from segue.process import StopReason

_LONGEST_OUTPUT = 1 << 20


class TimeLimit(NamedTuple):
    seconds: float = float("inf")
    text: str = ""
    """As the user wrote it."""


class TimeLimits(NamedTuple):
    """How long a command may run, and how long it may be silent."""

    total: TimeLimit = TimeLimit()
    idle: TimeLimit = TimeLimit()

    def describe(self, reason: StopReason) -> str:
        """Which limit stopped a command, as the rest of a sentence; empty if none did."""
        match reason:
            case "time":
                return f"was stopped after {self.total.text} (--timeout)"
            case "silence":
                return f"was stopped after {self.idle.text} without output (--idle-timeout)"
            case _:
                return ""


NO_LIMITS = TimeLimits()


class CommandResult(NamedTuple):
    code: int | None
    """Negative for the signal that ended it; None if it was stopped."""
    output: str
    """What it wrote, errors included; the last million characters of more."""
    exceeded: str = ""
    """The time limit that it exceeded, as the rest of a sentence."""

    @property
    def failure(self) -> str:
        """How it ended, as the rest of a sentence; empty if it succeeded."""
        return self.exceeded or process.describe_exit(self.code)


def run_command(
    argv: Sequence[str],
    *,
    cwd: str,
    environ: Mapping[str, str],
    stdin: str = "",
    on_output: Callable[[str], None],
    should_stop: Callable[[], bool],
    pass_fds: Sequence[int] = (),
    limits: TimeLimits = NO_LIMITS,
) -> CommandResult:
    """Run it to its end, or until it should stop. UsageError if it cannot be started.

    A command that is stopped is stopped with all that it started. It holds the descriptors `pass_fds` open as long as
    it lives.
    """
    output = _OutputEnd()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with ExitStack() as stack:
        try:
            running = stack.enter_context(
                process.start(
                    argv,
                    cwd=cwd,
                    environ=environ,
                    stdin=stdin.encode("utf-8", "replace"),
                    merges_errors=True,
                    pass_fds=pass_fds,
                )
            )
        except (OSError, ValueError) as error:  # a ValueError is a NUL in an argument
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"{argv[0]} cannot be started: {reason.lower()}", hint="check the command") from error
        for data, _ in running.read(
            timeout_seconds=limits.total.seconds, idle_seconds=limits.idle.seconds, should_stop=should_stop
        ):
            if text := decoder.decode(data):
                on_output(text)
                output.add(text)
    if rest := decoder.decode(b"", final=True):
        on_output(rest)
        output.add(rest)
    exceeded = limits.describe(running.stop_reason) if running.code is None else ""
    return CommandResult(running.code, output.text(), exceeded)


class _OutputEnd:
    """The end of an output that comes in pieces; each piece is copied once."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._length = 0

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)
        while self._length - len(self._pieces[0]) >= _LONGEST_OUTPUT:
            self._length -= len(self._pieces.popleft())

    def text(self) -> str:
        return "".join(self._pieces)[-_LONGEST_OUTPUT:]
