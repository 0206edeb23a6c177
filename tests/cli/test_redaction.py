"""What was redacted is printed by no command that shows turns; the branch with the new text is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.clock import utc_now
from segue.model import new_redaction

if TYPE_CHECKING:
    from tests.support.cli import Segue


@pytest.fixture
def redacted(cli: Segue) -> str:
    """A session whose first turn was redacted: the old one is on `main`, the new one on `main-2`."""
    with cli.library.create(agent="qa", title="Login bug", id="login") as session:
        session.add("user", "the secret is swordfish", parts=[{"type": "file", "path": "swordfish.txt"}])
        session.record(new_redaction(session.turns[0], utc_now()))
        session.fork(at=0, name="main-2")
        session.add("user", "BLOCKED")
    return "login"


def test_no_command_prints_what_was_redacted(cli: Segue, redacted: str) -> None:
    assert "BLOCKED" in cli.ok("show", redacted)
    assert "BLOCKED" in cli.ok("search", "blocked")
    cli.ok("switch", redacted, "main")
    for args in (
        ("show", redacted),
        ("show", redacted, "-n", "1"),
        ("show", redacted, "--json"),
        ("show", redacted, "--markdown"),
        ("tail", redacted),
        ("tail", redacted, "--json"),
        ("diff", redacted, "main", "main-2"),
        ("tree", redacted),
    ):
        printed = cli.ok(*args)
        assert "swordfish" not in printed
        assert "[redacted]" in printed, args
    assert "swordfish" not in cli.call("search", "swordfish").text


def test_an_export_has_the_whole_history(cli: Segue, redacted: str) -> None:
    assert "swordfish" in cli.ok("export", redacted, "--format", "json")


def test_what_leaves_the_records_out_leaves_the_redacted_text_out(cli: Segue, redacted: str) -> None:
    """Markdown, JSON Lines and a copy have no record that would hide it."""
    cli.ok("switch", redacted, "main")
    for format in ("markdown", "jsonl"):
        exported = cli.call("export", redacted, "--format", format).text
        assert "swordfish" not in exported
        assert "[redacted]" in exported
    cli.call("fork", redacted, "--new", "--id", "copy")
    assert [turn.content for turn in cli.library.load("copy").turns] == ["[redacted]"]
    assert "swordfish" not in cli.ok("export", "copy", "--format", "json")
