"""The board: what is claimed, by whom, how far it is; printed once, or kept up at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.ralph_demo import BY_SCRIPT, Demo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    return Demo(tmp_path)


def test_the_board_shows_changes_sessions_and_stories(demo: Demo) -> None:
    assert "add-greeting  ░░░░░░░░░░░░░░░░░░░░  stories 0/2  tasks 0/3\n" in demo.run().text
    demo.run(*BY_SCRIPT, "--max-stories", "1")
    shown = demo.run().text
    assert "add-greeting  █████████████░░░░░░░  stories 1/2  tasks 2/3\n" in shown
    assert f"  session {demo.saved().id} since " in shown
    assert "  ✓ 1 The program  2/2\n  ▶ 2 The page  0/1\n" in shown


def test_looking_at_the_board_changes_nothing(demo: Demo) -> None:
    before = sorted(demo.root.parent.rglob("*"))
    demo.run()
    assert sorted(demo.root.parent.rglob("*")) == before


def test_sessions_of_other_projects_and_damaged_ones_are_told(demo: Demo) -> None:
    (demo.root / "other").mkdir()
    demo.run("agent", "session", "init", "--change", "add-greeting", "--session", "s1")
    demo.run("agent", "session", "release", "--session", "s1")
    (demo.temporary / "ralph" / "sessions" / "torn.json").write_text("{", encoding="utf-8")
    shown = demo.run().text
    assert "  s1  change add-greeting  " in shown
    assert "  torn  cannot be read: " in shown


def test_a_claim_whose_session_is_gone_is_told(demo: Demo) -> None:
    demo.run("agent", "session", "init", "--change", "add-greeting", "--session", "s1")
    (demo.temporary / "ralph" / "sessions" / "s1.json").unlink()
    assert "  session s1 is gone; the next session takes its claim over\n" in demo.run().text


def test_titles_reach_the_terminal_as_text(demo: Demo) -> None:
    plan = demo.change / "tasks.md"
    plan.write_text("## 1. Red \x1b[31m[bold]x[/bold]\n- [ ] 1.1 a\n", encoding="utf-8")
    demo.run("agent", "session", "init", "--change", "add-greeting", "--session", "s1")
    with demo.at_terminal() as approver:
        approver.wait_for("1 Red \\x1b[31m[bold]x[/bold]")
        approver.type("\x03")
        assert approver.end() == 0


def test_the_board_at_a_terminal_is_kept_up(demo: Demo) -> None:
    demo.run("agent", "session", "init", "--change", "add-greeting", "--session", "s1")
    demo.run("agent", "session", "next-story", "--session", "s1")
    with demo.at_terminal() as approver:
        approver.wait_for("tasks 0/3")
        demo.run("agent", "task", "done", "1.1", "--session", "s1")
        approver.wait_for("tasks 1/3")
        approver.type("\x03")
        assert approver.end() == 0
