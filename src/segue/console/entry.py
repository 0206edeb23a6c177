"""The door of every command: what happens between the shell and the first verb, and after the last."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import click

    from segue.console.error_messages import ErrorHints


def enter(name: str, run: Callable[[list[str]], int]) -> NoReturn:
    """Do what the shell asks, and end the process. `run` imports the rest of the command when it is called."""
    os.environ["PATH"] = absolute_path(os.environ.get("PATH", ""))
    try:
        code = _answer(name, run, sys.argv[1:])
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


def absolute_path(path: str) -> str:
    """A PATH without the folder one is in: a project that somebody cloned brings no program that we, or what we start,
    would find there.
    """
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith(os.sep))


def perform(app: click.Command, name: str, words: Sequence[str], *, hints: ErrorHints) -> int:
    """Let a command answer, and give the code to end with; no exception escapes."""
    from segue.console import exit_codes, output

    given = list(words)
    as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
    try:
        output.prepare(name)
        with app.make_context(name, given) as ctx:
            code = app.invoke(ctx)
        return code if isinstance(code, int) else exit_codes.Exit.DONE
    except BaseException as error:  # noqa: BLE001 - the last stop of every error
        return exit_codes.report(error, as_json=as_json, hints=hints)


def _answer(name: str, run: Callable[[list[str]], int], args: list[str]) -> int:
    if args in (["--version"], ["-V"]) and sys.stdout is not None:  # asked by scripts, often: nothing else is imported
        from segue._version import __version__

        with suppress(OSError):
            sys.stdout.write(f"{name} {__version__}\n")
            sys.stdout.flush()
            return 0
    return run(args)
