"""A home folder in which every AI tool has the sessions of the corpus, where it stores them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations import INTEGRATIONS

if TYPE_CHECKING:
    from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
    from segue.integrations.shared.history import ExternalSession

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
HOMES = CORPUS / "homes"
"""Home folders as the tools left them; that of a tool that is only read is named like it."""
CLAUDE = "1296af37-a0fa-425f-8457-732695b55075"
CODEX = "01a1df33-fc2a-7eb2-8416-482a85e91f8c"
COPILOT = "63afbd30-5589-485d-92db-2a8f48e594ee"
PI = "01a1df41-3016-77e4-829c-e97850834fa2"
PLACES = {
    "claude": f".claude/projects/-tmp-corpus-project/{CLAUDE}.jsonl",
    "codex": f".codex/sessions/2026/11/15/rollout-2026-11-15T12-34-48-{CODEX}.jsonl",
    "gemini": ".gemini/tmp/project/chats/session-2026-11-15T12-34-08fbc9d0.jsonl",
    "opencode": ".local/share/opencode/opencode.db",
    "pi": f".pi/agent/sessions/--tmp-corpus-project--/2026-11-15T12-49-13-751Z_{PI}.jsonl",
    "kilo": ".local/share/kilo/kilo.db",
    "qwen": ".qwen/projects/-tmp-corpus-project/chats/98683b2e-b5f8-4038-b75d-e64b26c694ad.jsonl",
    "copilot": f".copilot/session-state/{COPILOT}/events.jsonl",
    "llm": ".config/io.datasette.llm/logs.db",
    "aider": ".aider.chat.history.md",
    "goose": ".local/share/goose/sessions/sessions.db",
    "crush": ".crush/crush.db",
    "zed": ".local/share/zed/threads/threads.db",
}
FILES = {
    "opencode": "tool.sql",
    "kilo": "tool.sql",
    "llm": "logs.sql",
    "aider": "history.md",
    "goose": "sessions.sql",
    "crush": "crush.sql",
    "zed": "threads.sql",
}
SECRET = "sk-that-nobody-may-see"  # noqa: S105 - nobody's


def later() -> datetime:
    return datetime(2027, 1, 1, tzinfo=UTC)


def move_in(home: Path, *tools: str) -> None:
    for tool in tools or INTEGRATIONS:
        if tool not in PLACES:
            shutil.copytree(HOMES / tool, home, dirs_exist_ok=True)
            continue
        place = home / PLACES[tool]
        place.parent.mkdir(parents=True, exist_ok=True)
        source = CORPUS / tool / FILES.get(tool, "tool.jsonl")
        if source.suffix == ".sql":
            database(place, source.read_text(encoding="utf-8"))
        else:
            shutil.copyfile(source, place)


def database(place: Path, script: str) -> None:
    with closing(sqlite3.connect(place)) as made:
        made.executescript(script)
        made.execute("CREATE TABLE credential (token TEXT)")
        made.execute("INSERT INTO credential VALUES (?)", (SECRET,))
        made.commit()


def place_of(tool: str, home: Path) -> Path:
    """The file of the corpus that has the tool's last session."""
    return home / PLACES[tool] if tool in PLACES else Path(sessions(tool, home)[-1].path)


def sessions(tool: str, home: Path) -> list[ExternalSession]:
    return list(INTEGRATIONS[tool].sessions(home, {}))


def read(tool: str, home: Path, number: int = -1) -> tuple[TranscriptBuilder, list[TranscriptTurn]]:
    builder, turns = INTEGRATIONS[tool].read(sessions(tool, home)[number])
    return builder, list(turns)


def snapshot(home: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and when it was changed."""
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in home.rglob("*") if path.is_file()}
