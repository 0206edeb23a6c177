"""Claude Code: a session in its projects folder, taken up with `--resume`."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.integrations import claude
from segue.integrations.claude.history import ClaudeHistory
from segue.integrations.files import put
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.transcript import empty_transcript
from segue.integrations.history import seen
from segue.integrations.integration import Launch, LaunchOptions, argument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.integration import HandoverContext

_LONGEST_SLUG = 200


class Claude(Struct, frozen=True, kw_only=True):
    name: str = "claude"

    def launch(self, context: HandoverContext, start: LaunchOptions) -> Launch:
        own, now = str(uuid.uuid4()), start.clock()
        said = outgoing_messages(context.turns, now=now)
        if not said:
            return _ready(["--session-id", own], own, start, context.system)
        cwd = os.path.realpath(start.cwd)
        data = claude.write(said, session_id=own, cwd=cwd, title=context.title, origin=context.origin, now=now)
        written = put(_projects(start.home, start.environ) / _slug(cwd, start.environ), f"{own}.jsonl", data)
        return _ready(["--resume", own], own, start, context.system, (written,))

    def resume(self, native_id: str, start: LaunchOptions, *, system: str) -> Launch | None:
        if _find_session(native_id, start) is None:
            return None
        return _ready(["--resume", native_id], native_id, start, system)

    def read_back(self, native_id: str, start: LaunchOptions) -> Transcript:
        found = _find_session(native_id, start)
        if found is None:
            return empty_transcript(self.name, native_id, "Claude Code has kept no such session")
        about, steps = ClaudeHistory().read(seen(native_id, found))
        return about.transcript(steps)


def _ready(
    session: Sequence[str], own: str, start: LaunchOptions, system: str, written: tuple[str, ...] = ()
) -> Launch:
    argv = [start.program, *session]
    if system:
        argv.append(f"--append-system-prompt={argument(system)}")
    argv += start.chosen_model
    if start.headless:
        argv.append("--print")
    argv += start.options
    if start.first_words:
        argv += ["--", start.first_words]
    return Launch(
        tool="claude",
        argv=tuple(argv),
        cwd=str(start.cwd),
        native_id=own,
        stdin=start.stdin,
        written=written,
    )


def _projects(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"


def _slug(cwd: str, environ: Mapping[str, str]) -> str:
    """The folder of a project. Claude gives a long one a suffix of its own, and finds the session without it."""
    return environ.get("CLAUDE_CODE_PROJECT_DIR_NAME") or re.sub(r"[^A-Za-z0-9]", "-", cwd)[:_LONGEST_SLUG]


def _find_session(native_id: str, start: LaunchOptions) -> Path | None:
    """In whatever project it is: Claude resumes it from anywhere."""
    name = f"{native_id}.jsonl"
    return next(iter(sorted(_projects(start.home, start.environ).glob(f"*/{name}"))), None)
