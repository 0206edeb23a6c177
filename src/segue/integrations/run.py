"""A tool, started and waited for. It gets the terminal; this process holds still until it ends."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

from segue.durable.kernel import storage_error
from segue.integrations.files import discard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segue.integrations.integration import Launch


def run(launch: Launch, environ: Mapping[str, str]) -> int:
    """The tool's exit code, negative for the signal that ended it. StorageError if it cannot be started.

    Ctrl-C belongs to the tool while it runs: it stops an answer there, and not us in front of the read-back.
    """
    before = signal.signal(signal.SIGINT, _leave_it_to_the_tool)
    try:
        process = subprocess.Popen(
            launch.argv,
            cwd=launch.cwd,
            env={**environ, **launch.environ},
            stdin=None if launch.stdin is None else subprocess.PIPE,
        )
    except OSError as error:
        raise storage_error(error, launch.argv[0], "start") from error
    else:
        with process:
            process.communicate(None if launch.stdin is None else launch.stdin.encode("utf-8", "replace"))
        return process.returncode
    finally:
        signal.signal(signal.SIGINT, before)
        for path in launch.passing:
            discard(path)


def _leave_it_to_the_tool(_number: int, _frame: object) -> None:
    """A handler and not SIG_IGN, which the tool would inherit."""
