"""The commands of `ralphtool`. Those of `agent` are for programs: JSON out, errors as JSON, a code to end with."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from segue.dialects.ralph.arguments import help_of, read
from segue.dialects.ralph.json_output import Exit, failure, rendered
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.dialects.ralph.arguments import ParsedArguments
    from segue.dialects.ralph.step_context import StepContext
    from segue.model import JsonObject


def perform(args: list[str]) -> int:
    """Answer one call; no exception escapes."""
    asked = help_of(args)
    if asked is None and args[:1] != ["agent"]:
        from segue.dialects.ralph.human_commands import serve

        return serve(args)
    try:
        sys.stdout.buffer.write(rendered(_answer(read(args))) if asked is None else asked.encode())
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        return Exit.BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last stop of every error
        said, code = failure(error)
        sys.stderr.buffer.write(said)
        sys.stderr.flush()
        return code
    return Exit.DONE


def _answer(said: ParsedArguments) -> JsonObject:
    from segue.dialects.ralph.step_context import StepContext

    options = said.options
    desk = StepContext(environ=os.environ, cwd=here(), session=options.get("--session"), story=options.get("--story"))
    if said.verb.startswith("session "):
        return _orchestrate(desk, said)
    from segue.dialects.ralph import agent_commands

    match said.verb:
        case "context":
            return agent_commands.context(desk)
        case "task done":
            return agent_commands.task_done(desk, *said.words)
        case "status":
            return agent_commands.status(desk)
        case "learn":
            return agent_commands.learn(desk, *said.words, task_id=options.get("--task"))
        case _:
            return agent_commands.pattern(desk, *said.words)


def _orchestrate(desk: StepContext, said: ParsedArguments) -> JsonObject:
    from segue.dialects.ralph import session_commands

    options = said.options
    match said.verb:
        case "session init":
            return session_commands.init(desk, options["--change"], takeover="--takeover" in options)
        case "session next-story":
            return session_commands.next_story(desk)
        case "session flush":
            return session_commands.flush(desk, keep=options.get("--keep"))
        case "session status":
            return session_commands.status(desk)
        case "session list":
            return session_commands.list_sessions(desk)
        case _:
            return session_commands.release(desk, options.get("--change"))


def here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a text, as the rooms below take it
    except OSError as error:
        raise UsageError(f"the folder you are in cannot be used: {error.strerror}", hint="go to another one") from None
