"""Starts pi: writes a session into its folder of the project, for `pi --session`."""

from __future__ import annotations

import os
import re
import uuid
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import iso_ms, outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.pi import history
from segue.integrations.pi.writer import write
from segue.integrations.shared.integration import HandoverContext, Launch, argument, system_as_message
from segue.integrations.shared.session_files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.history import ExternalSession
    from segue.integrations.shared.integration import LaunchOptions


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    id, now = str(uuid.uuid4()), options.clock()
    messages = outgoing_messages(context.turns, now=now, carries=context.carries)
    if not messages:
        return _prepare(["--session-id", id], id, options, context.system)
    cwd = os.path.realpath(options.cwd)
    data = write(messages, session_id=id, cwd=cwd, title=context.title, now=now)
    written = write_file(_folder(cwd, options), f"{iso_ms(now).replace(':', '-').replace('.', '-')}_{id}.jsonl", data)
    return _prepare(["--session", written], id, options, context.system, (written,))


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:
    found = _find_session(native_id, options)
    return None if found is None else _prepare(["--session", found.path], native_id, options, system)


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    found = _find_session(native_id, options)
    if found is None:
        return empty_transcript("pi", native_id, "pi does not have this session")
    builder, turns = history.read(found)
    return builder.transcript(turns)


def _prepare(
    session: Sequence[str], id: str, options: LaunchOptions, system: str, written: tuple[str, ...] = ()
) -> Launch:
    argv = [options.program, *session]
    if system:  # after a heading, since pi reads a file if the text is the name of one
        argv += ["--append-system-prompt", argument(system_as_message(HandoverContext(system=system)))]
    if options.model:
        argv += ["--model", argument(options.model)]
    argv += options.arguments
    if options.headless:
        argv.append("--print")
    if prompt := options.prompt_argument:
        argv += ["--", f" {prompt}" if prompt.startswith("@") else prompt]  # for pi, @ starts the name of a file
    return options.launch("pi", argv, id, written=written)


def _folder(cwd: str, options: LaunchOptions) -> Path:
    """The folder of the sessions that pi lists for a project."""
    name = re.sub(r"[/\\:]", "-", cwd.removeprefix("/"))
    return history.root(options.home, options.environ) / f"--{name}--"


def _find_session(native_id: str, options: LaunchOptions) -> ExternalSession | None:
    sessions = history.sessions(options.home, options.environ)
    return next((session for session in sessions if session.id == native_id), None)
