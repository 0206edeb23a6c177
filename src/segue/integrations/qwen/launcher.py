"""Starts Qwen Code: writes a session into its projects folder, for `qwen --resume`."""

from __future__ import annotations

import os
import re
import uuid
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.qwen import history
from segue.integrations.qwen.writer import write
from segue.integrations.shared.history import session_in_file
from segue.integrations.shared.integration import Launch, argument
from segue.integrations.shared.session_files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    id, now = str(uuid.uuid4()), options.clock()
    messages = outgoing_messages(context.turns, now=now, carries=context.carries)
    if not messages:
        return _prepare(["--session-id", id], id, options, context.system)
    cwd = os.path.realpath(options.cwd)
    data = write(messages, session_id=id, cwd=cwd, title=context.title, now=now)
    written = write_file(_chats(options), f"{id}.jsonl", data)
    return _prepare(["--resume", id], id, options, context.system, (written,))


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:
    """Qwen finds only the sessions of the folder in which it starts."""
    if not (_chats(options) / f"{native_id}.jsonl").is_file():
        return None
    return _prepare(["--resume", native_id], native_id, options, system)


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    projects = history.root(options.home, options.environ)
    found = [path for folder in ("chats", "chats/archive") for path in projects.glob(f"*/{folder}/{native_id}.jsonl")]
    if not found:
        return empty_transcript("qwen", native_id, "Qwen Code does not have this session")
    builder, turns = history.read(session_in_file(native_id, found[0]))
    return builder.transcript(turns)


def _prepare(
    session: Sequence[str], id: str, options: LaunchOptions, system: str, written: tuple[str, ...] = ()
) -> Launch:
    argv = [options.program, *session]
    if system:
        argv.append(f"--append-system-prompt={argument(system)}")
    argv += options.model_arguments
    argv += options.arguments
    if options.prompt_argument:
        argv.append(f"--prompt-interactive={options.prompt_argument}")
    return options.launch("qwen", argv, id, written=written)


def _chats(options: LaunchOptions) -> Path:
    project = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(options.cwd))
    return history.root(options.home, options.environ) / project / "chats"
