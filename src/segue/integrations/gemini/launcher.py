"""Starts Gemini CLI: writes a file for `gemini --session-file`, from which Gemini makes a session of its own.

A session of Gemini continues in the same way, with a new file that has all of it: `gemini --resume` sends the result of
every call twice. And as it starts, Gemini 0.61 deletes all sessions of the project that were resumed or started from a
file: it also made an empty file for them, takes that for a broken session, and deletes what has the same id. So these
get a second name before every start.
"""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.errors import SegueError
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.parts import has_part, notice_part
from segue.integrations.format.transcript import TranscriptBuilder, empty_transcript
from segue.integrations.gemini import INTEGRATION
from segue.integrations.gemini.history import read_id
from segue.integrations.gemini.reader import parse_turns
from segue.integrations.gemini.writer import message_prefix, write
from segue.integrations.shared.history import open_lines
from segue.integrations.shared.integration import Launch, system_as_message
from segue.integrations.shared.session_files import keep_file, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions
    from segue.model import Turn

_HEAD_BYTES = 64 << 10
_SHORT_ID = re.compile(r"-([0-9a-f]{8})\.jsonl?$")
_KEPT = ".segue"
"""The end of the name of a folder for sessions that Gemini would delete, next to that of their project."""
_LONG_CHARACTERS = 300_000
"""A longer conversation starts with the last summary that Gemini made of it, if there is one."""


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    if not (context.turns or context.system):
        id = str(uuid.uuid4())
        return _prepare(f"--session-id={id}", id, options)
    return _launch_with(context.turns, options, preface=system_as_message(context))


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:  # noqa: ARG001 - it was the first message
    found = _find_sessions(native_id, options)
    if not found:
        return _resume_unstarted(native_id, options)
    if len(found) > 1:
        return None  # it was started more than once, and no session has all of it
    turns = _turns(found[0])
    return _launch_with(turns, options) if turns else None


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    """By the id of the launch, or by Gemini's own, which the transcript has. Of several starts, all turns."""
    found = [_transcript(path) for path in _find_sessions(native_id, options)]
    if not found:
        return empty_transcript("gemini", native_id, "Gemini CLI does not have this session")
    if len(found) == 1:
        return found[0]
    turns = {turn.id: turn for transcript in found for turn in transcript.turns}
    return replace(
        found[-1],
        native_id=native_id,
        turns=tuple(sorted(turns.values(), key=lambda turn: turn.timestamp)),
        damages=tuple(damage for transcript in found for damage in transcript.damages),
        branches=tuple(branch for transcript in found for branch in transcript.branches),
    )


def _launch_with(turns: Sequence[Turn], options: LaunchOptions, *, preface: str = "") -> Launch:
    id, now = str(uuid.uuid4()), options.clock()
    messages = outgoing_messages(turns, preface=preface, now=now, carries=INTEGRATION.carries)
    if not messages:
        return _prepare(f"--session-id={id}", id, options)
    data = write(messages, session_id=id, cwd=os.path.realpath(options.cwd), now=now)
    written = write_file(_folder(options) / "segue", f"{id}.jsonl", data)
    return _prepare(f"--session-file={written}", id, options, (written,))


def _resume_unstarted(native_id: str, options: LaunchOptions) -> Launch | None:
    """With the file that was written for a launch which the user has not started yet."""
    written = _folder(options) / "segue" / f"{native_id}.jsonl"
    if not written.is_file():
        return None
    return _prepare(f"--session-file={written}", native_id, options, (str(written),))


def _prepare(session: str, id: str, options: LaunchOptions, written: tuple[str, ...] = ()) -> Launch:
    _keep_sessions(_folder(options) / "tmp")
    argv = [options.program, session]
    argv += options.model_arguments
    argv += options.arguments
    if options.prompt_argument:
        argv.append(f"--prompt-interactive={options.prompt_argument}")
    return options.launch("gemini", argv, id, written=written, temporary=written)


def _folder(options: LaunchOptions) -> Path:
    return Path(options.environ.get("GEMINI_CLI_HOME") or options.home) / ".gemini"


def _keep_sessions(root: Path) -> None:
    """Give every session that has a second file with its id another name, and its subagents too."""
    for chats in root.glob("*/chats"):
        files: dict[str, list[Path]] = {}
        for path in chats.glob("session-*") if not chats.parent.name.endswith(_KEPT) else ():
            if found := _SHORT_ID.search(path.name):
                files.setdefault(found[1], []).append(path)
        kept = chats.parent.with_name(f"{chats.parent.name}{_KEPT}")
        for same in files.values():
            if len(same) > 1:
                largest = max(same, key=os.path.getsize)
                id = read_id(str(largest))
                keep_file(chats.parent / ".project_root", kept)
                keep_file(largest, kept / "chats")
                for path in (chats / id).glob("*.jsonl"):
                    keep_file(path, kept / "chats" / id)


def _find_sessions(native_id: str, options: LaunchOptions) -> list[str]:
    """The files of a session, oldest first; their names have at most a part of the id, and their first lines all."""
    found: dict[str, str] = {}
    for path in map(str, (_folder(options) / "tmp").glob("*/chats/session-*.json*")):
        try:
            with open_lines(path) as lines:
                head = lines.read(_HEAD_BYTES, 0)
            id = read_id(path)
            if f'"{message_prefix(native_id)}'.encode() in head or id == native_id:
                found[id] = max(found.get(id, path), path, key=os.path.getsize)
        except (OSError, SegueError):
            continue  # Gemini has deleted it meanwhile
    return sorted(found.values(), key=os.path.getmtime)


def _transcript(path: str) -> Transcript:
    builder = TranscriptBuilder("gemini", path)
    with open_lines(path) as lines:
        return builder.transcript(parse_turns(lines, builder))


def _turns(path: str) -> list[Turn]:
    """The whole conversation, with what Segue handed over."""
    builder = TranscriptBuilder("gemini", path)
    with open_lines(path) as lines:
        entries = {entry.turn.id: entry for entry in parse_turns(lines, builder)}
    turns: list[Turn] = []
    name = builder.tip
    while (found := entries.pop(name, None)) is not None:
        turns.append(replace(found.turn, id=found.copy_of) if found.is_ours else found.turn)
        name = found.after
    return _shortened(turns[::-1])


def _shortened(turns: list[Turn]) -> list[Turn]:
    summaries = [number for number, turn in enumerate(turns) if has_part(turn, "summary")]
    if not summaries or sum(len(turn.content) for turn in turns) <= _LONG_CHARACTERS:
        return turns
    summary, *rest = turns[summaries[-1] :]
    return [replace(summary, parts=(notice_part(),)), *rest]
