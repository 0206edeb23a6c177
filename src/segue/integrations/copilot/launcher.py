"""Starts GitHub Copilot CLI: writes a session into its folder of sessions, for `copilot --resume`."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

from segue.integrations.copilot import history
from segue.integrations.copilot.writer import write_description, write_events
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.shared.integration import Launch, system_as_message
from segue.integrations.shared.session_files import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    id, now = str(uuid.uuid4()), options.clock()
    messages = outgoing_messages(context.turns, preface=system_as_message(context), now=now, carries=context.carries)
    if not messages:
        return _prepare(f"--session-id={id}", id, options)
    folder, cwd = _folder(id, options), os.path.realpath(options.cwd)
    described = write_description(session_id=id, cwd=cwd, title=context.title, now=now)
    events = write_events(messages, session_id=id, cwd=cwd, now=now)
    # Without the events it is not a session yet, so they are the last.
    written = [write_file(folder, history.DESCRIPTION, described), write_file(folder, history.EVENTS, events)]
    return _prepare(f"--resume={id}", id, options, tuple(written))


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:  # noqa: ARG001 - it was the first message
    if not (_folder(native_id, options) / history.EVENTS).is_file():
        return None
    return _prepare(f"--resume={native_id}", native_id, options)


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    folder = _folder(native_id, options)
    if not (folder / history.EVENTS).is_file():
        return empty_transcript("copilot", native_id, "GitHub Copilot CLI does not have this session")
    builder, turns = history.read(history.session_in(folder))
    return builder.transcript(turns)


def _prepare(session: str, id: str, options: LaunchOptions, written: tuple[str, ...] = ()) -> Launch:
    argv = [options.program, session, *options.model_arguments, *options.arguments]
    if options.prompt_argument:
        argv.append(f"--interactive={options.prompt_argument}")
    return options.launch("copilot", argv, id, written=written)


def _folder(native_id: str, options: LaunchOptions) -> Path:
    return history.root(options.home, options.environ) / native_id
