"""What we write is a change that OpenSpec's own command reads, counts and finds valid."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from segue.dialects.ralph.openspec import open_plan
from segue.durable.folder import Folder
from segue.model import Learning, Pattern

pytestmark = pytest.mark.real_tools

NOW = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
SPEC = """## ADDED Requirements

### Requirement: Early refresh

The system SHALL refresh a token before it expires.

#### Scenario: In time

- **WHEN** five minutes are left
- **THEN** the token is refreshed
"""


@pytest.fixture
def change(tmp_path: Path) -> Path:
    folder = tmp_path / "openspec" / "changes" / "login"
    (folder / "specs" / "auth").mkdir(parents=True)
    (folder / "specs" / "auth" / "spec.md").write_text(SPEC)
    why = "Tokens expire while people work, and they lose what they typed."
    (folder / "proposal.md").write_text(f"## Why\n\n{why}\n\n## What Changes\n\n- Refresh tokens early\n")
    (folder / "tasks.md").write_text(
        "## 1. Tokens\n\n- [ ] 1.1 Refresh\n- [ ] 1.10 Log it\n\n## 2. Docs\n\n- [ ] 2.1 Write\n"
    )
    return folder


def openspec(request: pytest.FixtureRequest, project: Path, *words: str) -> dict[str, object]:
    command = Path(request.config.getoption("--real-tools")) / "bin" / "openspec"
    environment = {**os.environ, "HOME": str(project), "OPENSPEC_TELEMETRY": "0", "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [command, *words, "--json"], cwd=project, env=environment, check=True, capture_output=True, timeout=120
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_openspec_counts_what_we_tick_and_finds_the_change_valid(
    request: pytest.FixtureRequest, tmp_path: Path, change: Path
) -> None:
    locks = Folder(str(tmp_path)).sub(".ralph").sub("locks")
    spec = open_plan(str(tmp_path), change.name, locks=locks, clock=lambda: NOW)
    spec.mark("1", "1.1")
    spec.mark("2", "2.1")
    spec.write_learnings([Learning(description="[ ] Tokens <!-- last\n## an hour", timestamp=NOW, id="l")])
    spec.write_patterns([Pattern(name="Retry", description="Twice", timestamp=NOW, id="p")])
    (listed,) = _list(openspec(request, tmp_path, "list")["changes"])
    assert (listed["name"], listed["completedTasks"], listed["totalTasks"]) == ("login", 2, 3)
    (item,) = _list(openspec(request, tmp_path, "validate", "login", "--strict")["items"])
    assert (item["valid"], item["issues"]) == (True, [])
    tasks = _list(openspec(request, tmp_path, "instructions", "apply", "--change", "login")["tasks"])
    assert [(task["description"], task["done"]) for task in tasks] == [
        (f"{task.id} {task.text}", task.done) for story in spec.stories() for task in story.tasks
    ]


def _list(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
