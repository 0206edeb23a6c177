"""Exit codes, and the one place where an error becomes an exit code and a message."""

from __future__ import annotations

import os
import traceback
from enum import IntEnum

import click

from segue.console import output
from segue.console.error_messages import SEGUE_HINTS, ErrorHints
from segue.durable.kernel import storage_error
from segue.errors import (
    AmbiguousIdError,
    ConflictError,
    DamagedError,
    MissingExtraError,
    NotFoundError,
    SegueError,
    StorageError,
    UsageError,
)


class Exit(IntEnum):
    """The exit codes of all commands."""

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
    Exit.DECLINED: "declined, denied by the scope, or a scripted line failed",
    Exit.USAGE: "usage error: correct the command line",
    Exit.NOT_FOUND: "no such session or agent, or several match",
    Exit.CONFLICT: "in use or already exists: try again, or choose another name",
    Exit.DAMAGED: "a session is damaged: see segue verify and segue recover",
    Exit.STORAGE: "storage error (disk, permissions, output)",
    Exit.MISSING_EXTRA: "an optional dependency is not installed",
    Exit.NO_ANSWER: "the agent did not answer: try again, or use another agent",
    Exit.UNEXPECTED: "a bug in Segue",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.BROKEN_PIPE: "the reader of the output closed the pipe",
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
    from segue.chat.agent import AgentError  # imported when something has failed

    families: tuple[tuple[type[SegueError], Exit], ...] = (*_FAMILIES, (AgentError, Exit.NO_ANSWER))
    return next((code for family, code in families if isinstance(error, family)), Exit.UNEXPECTED)


def report(error: BaseException, *, as_json: bool, hints: ErrorHints = SEGUE_HINTS) -> int:
    """Print what went wrong and what to do about it; the exit code."""
    match error:
        case SegueError():
            code, message, hint = exit_code_of(error), str(error), hints.hint_for(error)
        case click.exceptions.Exit():
            return error.exit_code
        case SystemExit(code=int(code)):  # ended by a signal
            return code
        case KeyboardInterrupt() | click.Abort():
            return Exit.INTERRUPTED
        case click.NoSuchOption(option_name=name, possibilities=[*near]) if near:
            code, message, hint = Exit.USAGE, f"there is no option {name}", f"did you mean {' or '.join(near)}?"
        case click.ClickException():
            code, message, hint = Exit.USAGE, _one_line(error.format_message()), _help_hint(error)
        case BrokenPipeError():
            return Exit.BROKEN_PIPE
        case OSError():  # stores raise StorageError, so this comes from a stream
            return report(storage_error(error, "the output", "write"), as_json=as_json)
        case _:
            if os.environ.get("SEGUE_DEBUG"):
                output.write_stderr(traceback.format_exc())
            code, message = Exit.UNEXPECTED, f"unexpected: {type(error).__name__}: {error}"
            hint = "this is a bug in Segue; SEGUE_DEBUG=1 shows where it happened"
    if as_json:
        more = {"candidates": error.candidates} if isinstance(error, AmbiguousIdError) else {}
        output.error_data({"error": {"code": code.name.lower(), "message": message, "hint": hint, **more}})
    else:
        output.error(message, hint)
    return code


def _one_line(message: str) -> str:
    """The message in our style: click breaks lines before the choices of an argument."""
    message = " ".join(message.split())
    return message[:1].lower() + message[1:].rstrip(".")


def _help_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{context.command_path if context else 'segue'} --help shows how"
