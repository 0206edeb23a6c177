"""The scenarios of the specifications that Segue fulfils: the titles as they stand there, and what does it here."""

from __future__ import annotations

import re
from typing import NamedTuple


class Scenario(NamedTuple):
    title: str
    how: str
    """The command that a person types, or the call."""

    @property
    def test(self) -> str:
        return f"test_{re.sub(r'[^a-z0-9]+', '_', self.title.lower()).strip('_')}"


class Seed(NamedTuple):
    number: str
    tool: str
    about: str
    scenarios: tuple[Scenario, ...]

    @property
    def file(self) -> str:
        return f"tests/seeds/test_{self.number}_{self.tool.lower()}.py"


AURORA = Seed(
    "001",
    "Aurora",
    "session management of `aur spawn`",
    (
        Scenario("Create New Session", "`aur spawn --interactive`"),
        Scenario("Save Session State", "`aur spawn --interactive`, and every turn in it"),
        Scenario("Load Existing Session", "`aur spawn --resume session-123`"),
        Scenario("List All Sessions", "`aur spawn --list-sessions`"),
        Scenario("Filter Sessions by Agent", "`aur spawn --list-sessions --agent qa-test`"),
        Scenario("Filter Sessions by Status", "`aur spawn --list-sessions --status active`"),
        Scenario("Delete Single Session", "`aur spawn --delete-session session-123`"),
        Scenario("Clean Old Sessions", "`aur spawn --clean-sessions 30`"),
        Scenario("Automatic Cleanup", "`session_expiry_days` in `~/.aurora/config.json`, at every start"),
        Scenario("JSONL Format Structure", "`~/.aurora/spawn/sessions/{id}.jsonl`"),
        Scenario("Parse JSONL on Load", "`aur spawn --resume session-123`"),
        Scenario("Handle Corrupted Session File", "`aur spawn --resume session-123`, which asks"),
        Scenario("Write Lock During Save", "`aur spawn --resume` of a session in use"),
        Scenario("Read During Active Session", "`aur spawn --list-sessions` beside a conversation"),
    ),
)
SOLEUR = Seed(
    "004",
    "Soleur",
    "sessions of `soleur`",
    (
        Scenario("New session creation", "`soleur spar`"),
        Scenario("Session contains message history", "`soleur spar`, and every message in it"),
        Scenario("Auto-save after agent response", "`soleur spar`, and every answer in it"),
        Scenario("Session file format", "`~/.soleur/sessions/{uuid}.json`"),
        Scenario("Load existing session", "`soleur load ID`"),
        Scenario("List sessions command", "`soleur sessions`"),
        Scenario("Empty session list", "`soleur sessions`"),
        Scenario("Resume last session prompt", "`soleur spar`, when there is a session"),
        Scenario("Fresh start option", "`soleur spar`, answered with no, or `--fresh`"),
        Scenario("Context from file", "`/context PATH`"),
        Scenario("Auto-detect README", "`soleur spar` beside a `README.md`"),
    ),
)
SEEDS = (AURORA, SOLEUR)


def section(seed: Seed) -> str:
    """What the page says of a seed."""
    rows = [f"| {one.title} | {one.how} | `{seed.file}::{one.test}` |" for one in seed.scenarios]
    head = [f"## {seed.tool}: {seed.about}", "", "| scenario | command or API | test |", "|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"
