"""The `segue` command: one file a verb, each of which parses, calls and prints. `app` finds them, `exits` ends them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> NoReturn:
    """The entry point of the command."""
    try:
        code = _answer(sys.argv[1:])
    except KeyboardInterrupt:  # so early that nothing was there yet to take it
        code = 130
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # The failure was reported where it happened. Python would try a last time on its way out, and complain.
        os._exit(code)
    sys.exit(code)


def _answer(args: list[str]) -> int:
    if args in (["--version"], ["-V"]) and sys.stdout is not None:  # asked by scripts, often: nothing else is imported
        from segue._version import __version__

        with suppress(OSError):
            sys.stdout.write(f"segue {__version__}\n")
            sys.stdout.flush()
            return 0
    from segue.cli.app import run

    return run(args)
