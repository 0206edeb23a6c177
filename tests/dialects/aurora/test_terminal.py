"""`aur spawn` as a person meets it: at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.machine import Machine

TURNS = (("user", "Why does login fail?"), ("assistant", "The token expires."))


def test_the_prompt_shows_who_answers_and_leaving_says_how_to_come_back(machine: Machine) -> None:
    machine.preset("qa-test")
    with machine.at_terminal("aur spawn -i --agent qa-test --session talk") as approver:
        approver.wait_for("@qa-test>")
        approver.enter("Hello")
        approver.wait_for("What are you turning over")
        approver.wait_for("@qa-test>")
        approver.enter("/exit")
        approver.wait_for("aur spawn --resume talk")
        assert approver.end() == 0
    assert machine.aurora.load("talk").status == "completed"


def test_deleting_asks_first_and_takes_the_beginning_of_an_id(machine: Machine) -> None:
    file = machine.journal("session-123", *TURNS)
    with machine.at_terminal("aur spawn --delete-session sess") as approver:
        approver.wait_for("Delete session 'session-123'? [y/N]")
        approver.enter("")
        approver.wait_for("nothing was deleted")
        assert approver.end() == 1
    assert file.exists()
    with machine.at_terminal("aur spawn --delete-session sess") as approver:
        approver.wait_for("[y/N]")
        approver.enter("y")
        approver.wait_for("Deleted session session-123")
        assert approver.end() == 0
    assert not file.exists()


def test_a_damaged_session_can_be_recovered_and_gone_on_with(machine: Machine) -> None:
    file = machine.journal("session-123", *TURNS)
    file.write_bytes(file.read_bytes().replace(b'"role": "assistant"', b'"role": assistant'))
    with machine.at_terminal("aur spawn --resume session-123") as approver:
        approver.wait_for("session-123.jsonl line 3")
        approver.wait_for("Recover what can be read? The damaged file is kept next to it. [Y/n]")
        approver.enter("")
        approver.wait_for("1 turn was recovered")
        approver.wait_for("Ask again? [Y/n]")
        approver.enter("n")
        approver.wait_for("@offline>")
        approver.enter("/exit")
        assert approver.end() == 0
    assert [turn.content for turn in machine.aurora.load("session-123").turns] == ["Why does login fail?"]


def test_the_table_fits_the_screen(machine: Machine) -> None:
    machine.journal("session-" + "x" * 40, *TURNS, agent="an-agent-with-a-very-long-name-that-does-not-end-so-soon")
    with machine.at_terminal("aur spawn --list-sessions") as approver:
        assert approver.end() == 0
        assert max(len(line) for line in approver.seen.splitlines()) <= 100
