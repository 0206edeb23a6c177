"""The entry point of all commands: prepare the process, run the command, flush the streams, exit."""

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
    """Run a command and end the process. `run` imports the rest of the command when it is called."""
    os.environ["PATH"] = absolute_search_path(os.environ.get("PATH", ""))
    try:
        code = _run(name, run, sys.argv[1:])
    except KeyboardInterrupt:  # before the command could install its own handler
        code = 130
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # The failure was reported where it happened; Python would flush again at exit and print another error.
        os._exit(code)
    sys.exit(code)


def absolute_search_path(path: str) -> str:
    """PATH without relative folders, so that neither we nor our children run a program of a cloned project."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith(os.sep))


def perform(app: click.Command, name: str, args: Sequence[str], *, hints: ErrorHints) -> int:
    """Run a command and return its exit code; no exception escapes."""
    from segue.console import exit_codes, output

    given = list(args)
    as_json = "--json" in (given[: given.index("--")] if "--" in given else given)
    try:
        output.prepare(name)
        if instruction := os.environ.get(f"_{name.upper()}_COMPLETE"):
            from segue.console.completion import answer

            return answer(app, name, instruction)
        with app.make_context(name, given) as ctx:
            code = app.invoke(ctx)
        return code if isinstance(code, int) else exit_codes.Exit.DONE
    except BaseException as error:  # noqa: BLE001 - the last stop of every error
        return exit_codes.report(error, as_json=as_json, hints=hints)


def _run(name: str, run: Callable[[list[str]], int], args: list[str]) -> int:
    if args in (["--version"], ["-V"]) and sys.stdout is not None:  # scripts ask often, so nothing else is imported
        from segue._version import __version__

        with suppress(OSError):
            sys.stdout.write(f"{name} {__version__}\n")
            sys.stdout.flush()
            return 0
    return run(args)
