"""Starts Codex: writes a rollout into its sessions folder, for `codex resume`."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations.codex import history
from segue.integrations.codex.provider import find_provider
from segue.integrations.codex.writer import write
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.shared.integration import Launch, argument
from segue.integrations.shared.session_files import write_file

if TYPE_CHECKING:
    from datetime import datetime

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.integration import HandoverContext, LaunchOptions


def launch(context: HandoverContext, options: LaunchOptions) -> Launch:
    now = options.clock()
    id = _new_id(now)
    messages = outgoing_messages(context.turns, now=now, carries=context.carries)
    provider = find_provider(_root(options), options.arguments)
    data = write(messages, session_id=id, cwd=os.path.realpath(options.cwd), now=now, provider=provider)
    folder = _root(options) / "sessions" / f"{now:%Y/%m/%d}"
    written = write_file(folder, f"rollout-{now:%Y-%m-%dT%H-%M-%S}-{id}.jsonl", data)
    return _prepare(id, options, context.system, (written,))


def resume(native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:
    if history.find_session(_root(options), native_id) is None:
        return None
    return _prepare(native_id, options, system)


def read_back(native_id: str, options: LaunchOptions) -> Transcript:
    session = history.find_session(_root(options), native_id)
    if session is None:
        return empty_transcript("codex", native_id, "Codex does not have this session")
    builder, turns = history.read(session)
    return builder.transcript(turns)


def _prepare(id: str, options: LaunchOptions, system: str, written: tuple[str, ...] = ()) -> Launch:
    arguments = list(options.arguments)
    if system:
        # A JSON text is a TOML text as well, but for one character.
        text = json.dumps(argument(system), ensure_ascii=False).replace("\x7f", "\\u007f")
        arguments.append(f"--config=developer_instructions={text}")
    arguments += options.model_arguments
    if options.headless:
        argv = [options.program, "exec", *arguments, "resume", id, "-"]
    else:
        prompt = ["--", options.prompt_argument] if options.prompt_argument else []
        argv = [options.program, "resume", *arguments, id, *prompt]
    return options.launch("codex", argv, id, written=written)


def _root(options: LaunchOptions) -> Path:
    return Path(options.environ.get("CODEX_HOME") or options.home / ".codex")


def _new_id(now: datetime) -> str:
    """A UUID that starts with the time (version 7), like those of Codex."""
    number = int(now.timestamp() * 1000) << 80 | uuid.uuid4().int & (1 << 80) - 1
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(0b11 << 62) | 0b10 << 62))
