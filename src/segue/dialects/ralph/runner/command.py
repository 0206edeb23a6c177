"""Runs one command of the orchestrator, an agent or a verification, and passes on what it writes as it comes."""

from __future__ import annotations

import codecs
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from segue import process
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LONGEST_OUTPUT = 1 << 20


class CommandResult(NamedTuple):
    code: int | None
    """Negative for the signal that ended it; None if it was stopped."""
    output: str
    """What it wrote, errors included; the last million characters of more."""

    @property
    def failure(self) -> str:
        """How it ended, as the rest of a sentence; empty if it succeeded."""
        return process.describe_exit(self.code)


def run_command(
    argv: Sequence[str],
    *,
    cwd: str,
    environ: Mapping[str, str],
    stdin: str = "",
    on_output: Callable[[str], None],
    should_stop: Callable[[], bool],
    pass_fds: Sequence[int] = (),
) -> CommandResult:
    """Run it to its end, or until it should stop. UsageError if it cannot be started.

    It holds the descriptors `pass_fds` open as long as it lives.
    """
    output = ""
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
        for data, _ in running.read(should_stop=should_stop):
            if text := decoder.decode(data):
                on_output(text)
                output = (output + text)[-_LONGEST_OUTPUT:]
    if rest := decoder.decode(b"", final=True):
        on_output(rest)
        output += rest
    return CommandResult(running.code, output)
