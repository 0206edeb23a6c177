"""The commands of `ralphtool`: a board and `run` for users, `agent` for programs (JSON output, errors as JSON)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from segue.dialects.ralph.arguments import find_help, parse_arguments
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.dialects.ralph.arguments import ParsedArguments
    from segue.dialects.ralph.step_context import StepContext
    from segue.model import JsonObject


def perform(args: list[str]) -> int:
    """Run one command and return its exit code; no exception escapes."""
    help_text = find_help(args)
    if help_text is None and args[:1] != ["agent"]:
        return _perform_for_user(args)
    try:
        if help_text is None:
            from segue.dialects.ralph.json_output import render_json

            sys.stdout.buffer.write(render_json(_run_agent_command(parse_arguments(args))))
        else:
            sys.stdout.buffer.write(help_text.encode())
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - no error escapes
        return _report(error)
    return 0


def _perform_for_user(args: list[str]) -> int:
    from segue.console import exit_codes, output
    from segue.console.error_messages import PLAIN_HINTS

    try:
        output.prepare("ralphtool")
        if not args:
            from segue.dialects.ralph.board import show

            return show()
        if args[0] == "completion":
            from segue.dialects.ralph.completion import run as complete

            return complete(args[1:])
        arguments = parse_arguments(args)
        from segue.dialects.ralph.run import run

        return run(arguments.options)
    except BaseException as error:  # noqa: BLE001 - no error escapes
        return exit_codes.report(error, as_json=False, hints=PLAIN_HINTS)


def _report(error: BaseException) -> int:
    """Print an error for a program; the exit code."""
    from segue.console.exit_codes import Exit  # slow to import, and needed by failures only
    from segue.dialects.ralph.json_output import error_json

    match error:
        case KeyboardInterrupt():
            return Exit.INTERRUPTED
        case BrokenPipeError():
            return Exit.BROKEN_PIPE
    text, code = error_json(error)
    sys.stderr.buffer.write(text)
    sys.stderr.flush()
    return code


def _run_agent_command(arguments: ParsedArguments) -> JsonObject:
    from segue.dialects.ralph.step_context import StepContext

    options = arguments.options
    session, story = options.get("--session"), options.get("--story")
    step = StepContext(environ=os.environ, cwd=current_folder(), session=session, story=story)
    if arguments.verb.startswith("session "):
        return _run_session_command(step, arguments)
    from segue.dialects.ralph import agent_commands

    match arguments.verb:
        case "context":
            return agent_commands.context(step)
        case "task done":
            return agent_commands.task_done(step, *arguments.positional)
        case "status":
            return agent_commands.status(step)
        case "learn":
            return agent_commands.learn(step, *arguments.positional, task_id=options.get("--task"))
        case _:
            return agent_commands.pattern(step, *arguments.positional)


def _run_session_command(step: StepContext, arguments: ParsedArguments) -> JsonObject:
    from segue.dialects.ralph import session_commands

    options = arguments.options
    match arguments.verb:
        case "session init":
            return session_commands.init(step, options["--change"], takeover="--takeover" in options)
        case "session next-story":
            return session_commands.next_story(step)
        case "session flush":
            return session_commands.flush(step, keep=options.get("--keep"))
        case "session status":
            return session_commands.status(step)
        case "session list":
            return session_commands.list_sessions(step)
        case _:
            return session_commands.release(step, options.get("--change"))


def current_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a text, as everything below takes it
    except OSError as error:
        raise UsageError(
            f"the current folder cannot be used: {error.strerror}", hint="change to another folder"
        ) from None
