"""Conversations that are held in an AI tool: a script here, which keeps its sessions as Claude Code does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.dialects.cortext.office import Office


@pytest.fixture(autouse=True)
def tool(office: Office) -> None:
    office.install_tool("claude")


def roles(office: Office) -> list[object]:
    return [message["role"] for message in office.messages()]


def test_a_conversation_is_begun_in_the_tool_read_back_and_paused(office: Office) -> None:
    told = office.run('cortext new brainstorm "API design" --tool claude', "REST or GraphQL?")
    assert "I was told 0 messages. You help somebody think" in told.text
    assert 'Conversation "API design" has been paused.' in told.text
    assert office.said()[0] == "API design\nREST or GraphQL?"
    assert roles(office) == ["user", "assistant"]
    assert office.session()["status"] == "paused"
    assert office.log == ["[conversation] Initialize brainstorm: API design", "[session] Pause: API design"]


def test_the_tool_goes_on_in_its_own_session_while_nothing_was_said_elsewhere(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --tool claude', "First.")
    assert "I was told 2 messages." in office.run("cortext resume 001", "Second.").text
    assert "I was told 4 messages." in office.run("cortext resume 001", "Third.").text
    assert len(list((office.home / ".claude").rglob("*.jsonl"))) == 1
    assert roles(office) == ["user", "assistant"] * 3


def test_a_conversation_moves_between_chat_and_tool_and_every_turn_is_there_once(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --agent offline', "In the chat.", "/exit")
    office.run("cortext resume 001 --tool claude", "In the tool.")
    office.run("cortext resume 001 --tool segue --agent offline", "Back in the chat.", "/exit")
    assert "I was told 6 messages." in office.run("cortext resume 001 --tool claude", "Again in the tool.").text
    said = office.said()
    assert said[::2] == ["In the chat.", "In the tool.", "Back in the chat.", "Again in the tool."]
    assert roles(office) == ["user", "assistant"] * 4
    assert len(list((office.home / ".claude").rglob("*.jsonl"))) == 2


def test_stopping_by_a_command_that_the_tool_runs_keeps_its_summary(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --tool claude', "First.")
    told = office.run("cortext resume 001", '$ cortext stop --summary "Stopped in the tool." --json').text
    assert "Summary: Stopped in the tool." in told
    assert office.session()["context_summary"] == "Stopped in the tool."
    assert roles(office) == ["user", "assistant"] * 2


def test_a_conversation_begun_by_a_command_that_the_tool_runs_is_read_back_from_there_on(office: Office) -> None:
    (office.project / ".claude").mkdir(exist_ok=True)
    before = 'printf "Before." | claude --session-id 11111111-2222-3333-4444-555555555555'
    office.run(before)
    begin = before.replace("Before.", "$ cortext new plan 'The release' --tool claude --json")
    office.run(begin)
    office.run(before.replace("Before.", "What first?"))
    office.run('cortext stop --summary "Just begun."')
    assert "What first?" in office.said()
    assert "Before." not in office.said()
    told = json.loads(office.run("cortext resume --list --json").out)
    assert [(card["title"], card["status"], card["summary"]) for card in told] == [
        ("The release", "paused", "Just begun.")
    ]


def test_what_the_tool_is_told_after_the_stop_belongs_to_no_conversation(office: Office) -> None:
    tool = "| claude --session-id 11111111-2222-3333-4444-555555555555"
    office.run(f"echo '$ cortext new plan release --tool claude --json' {tool}")
    office.run(f"echo 'What first?' {tool}")
    office.run("cortext stop")
    office.run(f"echo 'Something else.' {tool}")
    office.run("cortext resume 001 --tool segue --agent offline", "Back.", "/exit")
    assert "What first?\n" in office.said()
    assert "Something else.\n" not in office.said()
    assert "Back." in office.said()


def test_what_was_said_in_a_tool_whose_terminal_was_closed_is_taken_over_later(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --tool claude', "First.")
    (transcript,) = (office.home / ".claude").rglob("*.jsonl")
    office.run(f"echo 'Second.' | claude --resume {transcript.stem}")
    office.run("cortext resume 001 --tool segue --agent offline", "Third.", "/exit")
    assert [text.strip() for text in office.said()[::2]] == ["API design\nFirst.", "Second.", "Third."]


def test_a_tool_that_is_not_here_any_more_gives_way_to_the_chat(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --tool claude', "First.")
    (office._programs / "claude").unlink()
    told = office.run("cortext resume 001 --agent offline", "/exit")
    assert "claude is not on the PATH, so the conversation is held elsewhere" in told.complaint
    assert '[Resuming "API design"]' in told.text


def test_a_tool_that_is_named_and_not_here_is_an_error_and_begins_nothing(office: Office) -> None:
    assert "codex is not on the PATH" in office.run("cortext new plan API --tool codex", "x", code=3).complaint
    assert "there is no tool 'nonsense'" in office.run("cortext new plan API --tool nonsense", "x", code=3).complaint
    assert not office.conversations.exists()


def test_a_tool_that_fails_costs_a_warning(office: Office) -> None:
    office._program("claude", "exit 7")
    told = office.run('cortext new brainstorm "API design" --tool claude', "First.")
    assert "claude ended with 7" in told.complaint
    assert office.session()["status"] == "paused"


def test_without_a_terminal_and_without_words_the_tool_is_not_started(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --agent offline', "First.", "/exit")
    told = office.run("cortext resume 001 --tool claude", code=2).complaint
    assert "there is no terminal to open claude at" in told
    assert office.run("cortext list").text.splitlines()[1].split()[4] == "paused"
