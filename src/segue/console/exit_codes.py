"""How the command ends: the one place where errors become exit codes and words."""

from __future__ import annotations

import os
import traceback
from enum import IntEnum

import click

from segue.console import output
from segue.durable.kernel import storage_error
from segue.errors import (
    ConflictError,
    DamagedError,
    MissingExtraError,
    NotFoundError,
    SegueError,
    StorageError,
    UsageError,
)


class Exit(IntEnum):
    """What a script can tell from the way the command ended."""

    DONE = 0
    DECLINED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    DAMAGED = 5
    STORAGE = 6
    MISSING_EXTRA = 7
    NO_ANSWER = 8
    UNEXPECTED = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


MEANINGS = {
    Exit.DONE: "done",
    Exit.DECLINED: "you were asked and said no; a line of a conversation came to nothing; a scope denies it",
    Exit.USAGE: "the call is wrong: fix it",
    Exit.NOT_FOUND: "there is no such session or agent, or several match",
    Exit.CONFLICT: "in use or taken: try again, or choose another name",
    Exit.DAMAGED: "a session is damaged: see segue verify and segue recover",
    Exit.STORAGE: "the machine would not: disk, permissions, output",
    Exit.MISSING_EXTRA: "an optional part is not installed",
    Exit.NO_ANSWER: "no answer came: try again, or another agent",
    Exit.UNEXPECTED: "a mistake in Segue itself",
    Exit.INTERRUPTED: "Ctrl-C",
    Exit.BROKEN_PIPE: "whoever read the output has gone",
}

_FAMILIES: tuple[tuple[type[SegueError], Exit], ...] = (
    (UsageError, Exit.USAGE),
    (NotFoundError, Exit.NOT_FOUND),
    (ConflictError, Exit.CONFLICT),
    (DamagedError, Exit.DAMAGED),
    (StorageError, Exit.STORAGE),
    (MissingExtraError, Exit.MISSING_EXTRA),
)


def exit_code_of(error: SegueError) -> Exit:
    from segue.chat.agent import AgentError  # most calls end well, and ask nobody

    families: tuple[tuple[type[SegueError], Exit], ...] = (*_FAMILIES, (AgentError, Exit.NO_ANSWER))
    return next((code for family, code in families if isinstance(error, family)), Exit.UNEXPECTED)


def report(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong, once, and give the code to end with."""
    match error:
        case SegueError():
            code, message, hint = exit_code_of(error), str(error), error.hint
        case click.exceptions.Exit():
            return error.exit_code
        case SystemExit(code=int(code)):  # ended by a signal
            return code
        case KeyboardInterrupt() | click.Abort():
            return Exit.INTERRUPTED
        case click.NoSuchOption(option_name=name, possibilities=[*near]) if near:
            code, message, hint = Exit.USAGE, f"there is no option {name}", f"did you mean {' or '.join(near)}?"
        case click.ClickException():
            code, message, hint = Exit.USAGE, _lower(error.format_message()), _where_help_is(error)
        case BrokenPipeError():
            return Exit.BROKEN_PIPE
        case OSError():  # stores let none through, so that it comes of a stream
            return report(storage_error(error, "the output", "write"), as_json=as_json)
        case _:
            if os.environ.get("SEGUE_DEBUG"):
                output.write_stderr(traceback.format_exc())
            code, message = Exit.UNEXPECTED, f"unexpected: {type(error).__name__}: {error}"
            hint = "this is a mistake in Segue; SEGUE_DEBUG=1 shows where it happened"
    if as_json:
        output.error_data({"error": {"code": code.name.lower(), "message": message, "hint": hint}})
    else:
        output.error(message, hint)
    return code


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:].rstrip(".")


def _where_help_is(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{context.command_path if context else 'segue'} --help shows how"
