"""Starts Gemini CLI: writes a file for `gemini --session-file`, from which Gemini makes a session of its own."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.gemini.reader import read
from segue.integrations.gemini.writer import message_prefix, write
from segue.integrations.shared.integration import Launch, check_native_id, system_as_message
from segue.integrations.shared.session_files import read_file, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    id, now = str(uuid.uuid4()), options.clock()
    messages = outgoing_messages(context.turns, preface=system_as_message(context), now=now)
    if not messages:
        return _prepare(f"--session-id={id}", id, options)
    data = write(messages, session_id=id, cwd=os.path.realpath(options.cwd), now=now)
    written = write_file(_folder(options) / "segue", f"{id}.jsonl", data)
    return _prepare(f"--session-file={written}", id, options, (written,))


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:  # noqa: ARG001 - it was the first message
    found = next(_find_sessions(native_id, options), None)
    if found is None:
        return _resume_unstarted(native_id, options)
    id = read(read_file(found), place=str(found)).native_id
    return _prepare(f"--resume={check_native_id(id)}", id, options)


def _resume_unstarted(native_id: str, options: LaunchOptions) -> Launch | None:
    """With the file that was written for a launch which the user has not started yet."""
    written = _folder(options) / "segue" / f"{native_id}.jsonl"
    if not written.is_file():
        return None
    return _prepare(f"--session-file={written}", native_id, options, (str(written),))


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    """By the id of the launch, or by Gemini's own, which the transcript has."""
    found = [read(read_file(path), place=str(path)) for path in _find_sessions(native_id, options)]
    if not found:
        return empty_transcript("gemini", native_id, "Gemini CLI does not have this session")
    return max(found, key=lambda transcript: len(transcript.turns))


def _prepare(session: str, id: str, options: LaunchOptions, written: tuple[str, ...] = ()) -> Launch:
    argv = [options.program, session]
    argv += options.model_arguments
    argv += options.arguments
    if options.prompt_argument:
        argv.append(f"--prompt-interactive={options.prompt_argument}")
    return Launch(
        tool="gemini",
        argv=tuple(argv),
        cwd=str(options.cwd),
        native_id=id,
        stdin=options.stdin,
        written=written,
        temporary=written,
    )


def _folder(options: LaunchOptions) -> Path:
    return Path(options.environ.get("GEMINI_CLI_HOME") or options.home) / ".gemini"


def _find_sessions(native_id: str, options: LaunchOptions) -> Iterator[Path]:
    """Every start adds a file with the same id, and only one is continued; file names have at most a part of the id."""
    own = f'"sessionId":"{native_id}"'.encode()
    handed_over = f'"id":"{message_prefix(native_id)}'.encode()
    for path in sorted((_folder(options) / "tmp").glob("*/chats/session-*.jsonl"), reverse=True):
        data = read_file(path)
        if own in data or handed_over in data:
            yield path
