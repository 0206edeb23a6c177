"""Codex: a rollout in its sessions folder, taken up with `codex resume`."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.integrations import codex
from segue.integrations.codex.history import CodexHistory
from segue.integrations.files import put
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.history import seen
from segue.integrations.integration import Launch, LaunchOptions, argument

if TYPE_CHECKING:
    from datetime import datetime

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.integration import HandoverContext


class Codex(Struct, frozen=True, kw_only=True):
    name: str = "codex"

    def launch(self, context: HandoverContext, start: LaunchOptions) -> Launch:
        now = start.clock()
        own = _thread_id(now)
        cwd = os.path.realpath(start.cwd)
        said = outgoing_messages(context.turns, now=now)
        data = codex.write(said, session_id=own, cwd=cwd, origin=context.origin, now=now)
        written = put(_sessions(start) / f"{now:%Y/%m/%d}", f"rollout-{now:%Y-%m-%dT%H-%M-%S}-{own}.jsonl", data)
        return _ready(own, start, context.system, (written,))

    def resume(self, native_id: str, start: LaunchOptions, *, system: str) -> Launch | None:
        if _find_rollout(native_id, start) is None:
            return None
        return _ready(native_id, start, system)

    def read_back(self, native_id: str, start: LaunchOptions) -> Transcript:
        found = _find_rollout(native_id, start)
        if found is None:
            return empty_transcript(self.name, native_id, "Codex has kept no such session")
        about, steps = CodexHistory().read(seen(native_id, found))
        return about.transcript(steps)


def _ready(own: str, start: LaunchOptions, system: str, written: tuple[str, ...] = ()) -> Launch:
    options = list(start.options)
    if system:
        # A JSON text is a TOML text as well, but for one character.
        words = json.dumps(argument(system), ensure_ascii=False).replace("\x7f", "\\u007f")
        options.append(f"--config=developer_instructions={words}")
    options += start.chosen_model
    if start.headless:
        argv = [start.program, "exec", *options, "resume", own, "-"]
    else:
        argv = [start.program, "resume", *options, own, *(["--", start.first_words] if start.first_words else [])]
    return Launch(
        tool="codex",
        argv=tuple(argv),
        cwd=str(start.cwd),
        native_id=own,
        stdin=start.stdin,
        written=written,
    )


def _sessions(start: LaunchOptions) -> Path:
    return Path(start.environ.get("CODEX_HOME") or start.home / ".codex") / "sessions"


def _find_rollout(native_id: str, start: LaunchOptions) -> Path | None:
    """The plain one before a compressed one, the living before the archived."""
    name = f"rollout-*-{native_id}.jsonl"
    sessions = _sessions(start)
    for pattern in (name, f"{name}.zst"):
        for found in (*sessions.glob(f"*/*/*/{pattern}"), *(sessions.parent / "archived_sessions").glob(pattern)):
            return found
    return None


def _thread_id(now: datetime) -> str:
    """A UUID that begins with the time (version 7), as Codex makes them."""
    number = int(now.timestamp() * 1000) << 80 | uuid.uuid4().int & (1 << 80) - 1
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(0b11 << 62) | 0b10 << 62))
