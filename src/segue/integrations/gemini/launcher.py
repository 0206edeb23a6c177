"""Gemini CLI: a file handed over with `--session-file`, of which it makes a session of its own."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.integrations import gemini
from segue.integrations.files import check_native_id, put, take
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.gemini.writer import mark_of
from segue.integrations.integration import Launch, LaunchOptions, instructions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.integration import HandoverContext


class Gemini(Struct, frozen=True, kw_only=True):
    name: str = "gemini"

    def launch(self, context: HandoverContext, start: LaunchOptions) -> Launch:
        own, now = str(uuid.uuid4()), start.clock()
        said = outgoing_messages(context.turns, preface=instructions(context), now=now)
        if not said:
            return _ready(f"--session-id={own}", own, start)
        data = gemini.write(said, session_id=own, cwd=os.path.realpath(start.cwd), now=now)
        written = put(_folder(start) / "segue", f"{own}.jsonl", data)
        return _ready(f"--session-file={written}", own, start, (written,))

    def resume(self, native_id: str, start: LaunchOptions, *, system: str) -> Launch | None:  # noqa: ARG002 - it was said first
        found = next(_find_sessions(native_id, start), None)
        if found is None:
            return None
        own = gemini.read(take(found), place=str(found)).native_id
        return _ready(f"--resume={check_native_id(own)}", own, start)

    def read_back(self, native_id: str, start: LaunchOptions) -> Transcript:
        """By the id of the launch or by Gemini's own; the transcript has Gemini's own."""
        found = [gemini.read(take(path), place=str(path)) for path in _find_sessions(native_id, start)]
        if not found:
            return empty_transcript(self.name, native_id, "Gemini CLI has kept no such session")
        return max(found, key=lambda transcript: len(transcript.turns))


def _ready(session: str, own: str, start: LaunchOptions, written: tuple[str, ...] = ()) -> Launch:
    argv = [start.program, session]
    argv += start.chosen_model
    argv += start.options
    if start.first_words:
        argv.append(f"--prompt-interactive={start.first_words}")
    return Launch(
        tool="gemini",
        argv=tuple(argv),
        cwd=str(start.cwd),
        native_id=own,
        stdin=start.stdin,
        written=written,
        passing=written,
    )


def _folder(start: LaunchOptions) -> Path:
    return Path(start.environ.get("GEMINI_CLI_HOME") or start.home) / ".gemini"


def _find_sessions(native_id: str, start: LaunchOptions) -> Iterator[Path]:
    """Every start adds a file of the same id, and only one of them goes on; the names show a part of the id at most."""
    own = f'"sessionId":"{native_id}"'.encode()
    handed_over = f'"id":"{mark_of(native_id)}'.encode()
    for path in sorted((_folder(start) / "tmp").glob("*/chats/session-*.jsonl"), reverse=True):
        data = take(path)
        if own in data or handed_over in data:
            yield path
