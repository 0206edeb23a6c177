"""Against other programs that show the sessions of AI tools: every word of a user that they show, Segue has too."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations.registry import with_history
from tests.support.corpus_events import HOMES
from tests.support.viewers import VIEWERS, plain_words

if TYPE_CHECKING:
    from segue.integrations.format.transcript import TranscriptTurn

pytestmark = pytest.mark.viewers

NOBODYS = re.compile(
    r"Request interrupted by user(?: for tool use)?"
    r"|The command below was run directly in Claude Code.*context for later messages"
    r"|(?:\x1b\[\d*m)?Compacted \(ctrl\+o to see full summary\)(?:\x1b\[\d*m)?"
    r"|The user named this session .* focus or intent"
    r"|Show more\s*$"  # a button
    r"|Exit code: \d+\s+Duration: [\d.]+ seconds\s+Output:"
    r"|I ran the following shell command:\s+```sh|This produced the following result:"
    r"|Called the Read tool with the following input: \{[^}]*\}|Image read successfully"
    r"|The following tool was executed by the user",
    re.DOTALL,
)
"""What tools and viewers write in the place of the user, and nobody said."""
PROMPT = re.compile(r"\bP\d+ (?:\w+ ?){2}")
"""Every prompt of the corpus has a number."""
UNREAD = {"aider", "continue", "droid", "llm", "roo"}
"""Tools whose sessions no viewer finds in the corpus; most viewers read those of Claude Code alone."""


def pairs() -> list[tuple[str, str, str]]:
    """Every home of the corpus, the tool that wrote it, and each viewer that reads it."""
    return [
        (home.name, tool, viewer)
        for home in sorted(HOMES.iterdir())
        for tool in with_history()
        for viewer in VIEWERS
        if (home.name == tool or home.name.startswith(f"{tool}-")) and tool not in UNREAD
        if tool == "claude" or viewer == "agentsview"
    ]


@pytest.mark.parametrize(("home", "tool", "viewer"), pairs())
def test_every_word_of_a_user_that_a_viewer_shows_is_read(
    tmp_path: Path, request: pytest.FixtureRequest, home: str, tool: str, viewer: str
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for copy in (ours, theirs):
        shutil.copytree(HOMES / home, copy)
    integration = with_history()[tool]
    entries = [entry for session in integration.sessions(ours, {}) for entry in integration.read(session).turns]
    said = plain_words("\n".join(entry.turn.content for entry in entries if entry.turn.role == "user"))
    known = set(plain_words("\n".join(map(everything, entries))).split())

    folder = Path(request.config.getoption("--viewers")).resolve()
    shown = [plain_words(NOBODYS.sub(" ", text)) for text in VIEWERS[viewer](folder, theirs)]
    assert shown
    assert [text for text in shown if not known.issuperset(text.split())] == []
    prompts = {prompt for text in shown for prompt in PROMPT.findall(text)}
    assert prompts
    assert [prompt for prompt in prompts if prompt not in said] == []


def everything(entry: TranscriptTurn) -> str:
    """All texts of a turn: its own, and those of its parts."""
    parts = [part.get("content") or part.get("text") or part.get("arguments") for part in entry.turn.parts]
    texts = [part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts if part]
    return "\n".join([entry.turn.content, *texts])
