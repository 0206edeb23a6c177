"""What only an editor asks for: lists to choose from, the log of its tool calls, and when something was said."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.gptel import Keeper

SAVED = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(path: Path) -> Path:
    os.utime(path, (SAVED.timestamp(), SAVED.timestamp()))
    return path


def test_sessions_of_activities_are_listed_with_the_others(keeper: Keeper, path: Path) -> None:
    activities = keeper.home / "emacs-activities"
    made = keeper.gptel("new", "Größe planen", "--activities", str(activities))
    assert made["title"] == "Größe planen"
    assert str(made["session_dir"]).startswith(f"{activities}/gr")
    assert str(made["session_dir"]).endswith(f"-{datetime.now(UTC):%Y-%m-%d}/session")
    (activities / "notes" / "session").mkdir(parents=True)
    found = json.loads(keeper.ok("gptel", "list", "--activities", str(activities), "--json"))
    assert [(one["session_id"], one["session_dir"], bool(one["activity"])) for one in found] == [
        (path.parents[2].name, str(path.parents[2]), False),
        (made["session_id"], made["session_dir"], True),
    ]
    assert not json.loads(keeper.ok("gptel", "list", "--store", "gptel:nowhere", "--activities", "nowhere", "--json"))
    keeper.refuses(2, "gptel", "new", "x", "--activity", "a", "--activities", "b")
    again = keeper.refuses(4, "gptel", "new", "Größe planen", "--activities", str(activities))
    assert again.startswith("segue: there is already a session in")


def test_presets_are_listed(keeper: Keeper) -> None:
    assert "executor" in [one["name"] for one in json.loads(keeper.ok("gptel", "presets", "--json"))]
    assert keeper.ok("gptel", "presets").startswith("executor")


def test_a_call_is_logged_and_the_conversation_stays_unchanged(keeper: Keeper, path: Path) -> None:
    before = path.read_bytes()
    call = json.dumps({"name": "read\n* x", "arguments": {"path": "a"}, "result": "* no heading\x1b"})
    for _ in range(2):
        assert keeper.ok("gptel", "log", str(path), stdin=call.encode()).strip() == str(path.parent / "tools.org")
    text = (path.parent / "tools.org").read_text()
    assert text.count("\n* ") + text.startswith("* ") == 2
    assert text.startswith("* read * x\n:PROPERTIES:\n")
    assert ",* no heading␛\n" in text
    assert path.read_bytes() == before
    for wrong in ("", "[]", "{}", '{"name": 1, "result": ""}', "[" * 100_000):
        assert "is not a tool call" in keeper.refuses(2, "gptel", "log", str(path), stdin=wrong.encode())


def note(path: Path, moment: str, role: str, text: str) -> None:
    with (path.parent / ".times").open("a") as notes:
        notes.write(f"{moment} {role} {hashlib.sha256(text.encode()).hexdigest()}\n")


def times(keeper: Keeper, path: Path) -> list[str]:
    shown = json.loads(keeper.ok("show", path.parents[2].name, "--store", f"gptel:{keeper.sessions}", "--json"))
    return [turn["timestamp"] for turn in shown["turns"]]


def test_what_was_typed_has_the_time_of_its_note_or_of_the_file(keeper: Keeper, path: Path) -> None:
    saved = "2030-01-01T12:00:00Z"
    assert times(keeper, path) == [saved] * 3
    (path.parent / ".times").write_bytes(b"\xff\n2030-13-01T00:00:00.000Z user " + b"0" * 64 + b"\n")
    note(path, "2030-01-01T10:30:00.250Z", "assistant", "Usecursors.")
    note(path, "2030-01-01T13:00:00.000Z", "user", "Andthen?")  # after the file was saved
    noted = "2030-01-01T10:30:00.250000Z"
    assert times(keeper, path) == [noted, noted, saved]
    note(path, "2030-01-01T10:00:00.000Z", "user", "HowdoIpaginate?")
    assert times(keeper, path) == ["2030-01-01T10:00:00Z", noted, saved]
    keeper.gptel("save", path)
    (path.parent / ".times").unlink()
    assert times(keeper, path) == ["2030-01-01T10:00:00Z", noted, saved]
