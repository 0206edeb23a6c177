"""Starts Claude Code: writes a session into its projects folder, for `claude --resume`."""

from __future__ import annotations

import os
import re
import uuid
from typing import TYPE_CHECKING

from segue.integrations.claude import history
from segue.integrations.claude.writer import write
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.shared.history import session_in_file
from segue.integrations.shared.integration import Launch, argument
from segue.integrations.shared.session_files import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions

_LONGEST_SLUG = 200


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    id, now = str(uuid.uuid4()), options.clock()
    messages = outgoing_messages(context.turns, now=now, carries=context.carries)
    if not messages:
        return _prepare(["--session-id", id], id, options, context.system)
    cwd = os.path.realpath(options.cwd)
    data = write(messages, session_id=id, cwd=cwd, title=context.title, now=now)
    written = write_file(_projects(options) / _slug(cwd, options.environ), f"{id}.jsonl", data)
    return _prepare(["--resume", id], id, options, context.system, (written,))


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:
    if _find_session(native_id, options) is None:
        return None
    return _prepare(["--resume", native_id], native_id, options, system)


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    found = _find_session(native_id, options)
    if found is None:
        return empty_transcript("claude", native_id, "Claude Code does not have this session")
    builder, turns = history.read(session_in_file(native_id, found))
    return builder.transcript(turns)


def _prepare(
    session: Sequence[str], id: str, options: LaunchOptions, system: str, written: tuple[str, ...] = ()
) -> Launch:
    argv = [options.program, *session]
    if system:
        argv.append(f"--append-system-prompt={argument(system)}")
    argv += options.model_arguments
    if options.headless:
        argv.append("--print")
    argv += options.arguments
    if options.prompt_argument:
        argv += ["--", options.prompt_argument]
    return options.launch("claude", argv, id, written=written)


def _projects(options: LaunchOptions) -> Path:
    return history.root(options.home, options.environ)


def _slug(cwd: str, environ: Mapping[str, str]) -> str:
    """The name of the folder of a project. Claude adds a suffix to a long one, and finds the session without it."""
    return environ.get("CLAUDE_CODE_PROJECT_DIR_NAME") or re.sub(r"[^A-Za-z0-9]", "-", cwd)[:_LONGEST_SLUG]


def _find_session(native_id: str, options: LaunchOptions) -> Path | None:
    """The file of a session in any project: Claude resumes it from anywhere."""
    return next(iter(sorted(_projects(options).glob(f"*/{native_id}.jsonl"))), None)
