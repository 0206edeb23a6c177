"""pi: a session in its folder of the project, taken up with `--session`."""

from __future__ import annotations

import os
import re
import uuid
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.integrations import pi
from segue.integrations.files import put
from segue.integrations.format.outgoing import iso_ms, outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.integration import HandoverContext, Launch, LaunchOptions, argument, instructions
from segue.integrations.pi.history import PiHistory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.history import ExternalSession


class Pi(Struct, frozen=True, kw_only=True):
    name: str = "pi"

    def launch(self, context: HandoverContext, start: LaunchOptions) -> Launch:
        own, now = str(uuid.uuid4()), start.clock()
        said = outgoing_messages(context.turns, now=now)
        if not said:
            return _ready(["--session-id", own], own, start, context.system)
        cwd = os.path.realpath(start.cwd)
        data = pi.write(said, session_id=own, cwd=cwd, title=context.title, origin=context.origin, now=now)
        written = put(_folder(cwd, start), f"{iso_ms(now).replace(':', '-').replace('.', '-')}_{own}.jsonl", data)
        return _ready(["--session", written], own, start, context.system, (written,))

    def resume(self, native_id: str, start: LaunchOptions, *, system: str) -> Launch | None:
        found = _find_session(native_id, start)
        return None if found is None else _ready(["--session", found.path], native_id, start, system)

    def read_back(self, native_id: str, start: LaunchOptions) -> Transcript:
        found = _find_session(native_id, start)
        if found is None:
            return empty_transcript(self.name, native_id, "pi has kept no such session")
        about, steps = PiHistory().read(found)
        return about.transcript(steps)


def _ready(
    session: Sequence[str], own: str, start: LaunchOptions, system: str, written: tuple[str, ...] = ()
) -> Launch:
    argv = [start.program, *session]
    if system:  # behind a heading, since pi takes the name of a file for the file
        argv += ["--append-system-prompt", argument(instructions(HandoverContext(system=system)))]
    if start.model:
        argv += ["--model", argument(start.model)]
    argv += start.options
    if start.headless:
        argv.append("--print")
    if first := start.first_words:
        argv += ["--", f" {first}" if first.startswith("@") else first]  # for pi, @ begins the name of a file
    return Launch(
        tool="pi",
        argv=tuple(argv),
        cwd=str(start.cwd),
        native_id=own,
        stdin=start.stdin,
        written=written,
    )


def _folder(cwd: str, start: LaunchOptions) -> Path:
    """Of the sessions that pi lists for a project."""
    name = re.sub(r"[/\\:]", "-", cwd.removeprefix("/"))
    return PiHistory().root(start.home, start.environ) / f"--{name}--"


def _find_session(native_id: str, start: LaunchOptions) -> ExternalSession | None:
    kept = PiHistory().kept(start.home, start.environ)
    return next((one for one in kept if one.id == native_id), None)
