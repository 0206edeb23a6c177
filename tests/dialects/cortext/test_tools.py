"""Conversations that are held in an AI tool: a script here, which keeps its sessions as Claude Code does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.workspace import Office


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
    assert "claude is not on the PATH; using another tool" in told.complaint
    assert '[Resuming "API design"]' in told.text


def test_a_tool_that_is_named_and_not_here_is_an_error_and_begins_nothing(office: Office) -> None:
    assert "codex is not on the PATH" in office.run("cortext new plan API --tool codex", "x", code=3).complaint
    assert "there is no tool 'nonsense'" in office.run("cortext new plan API --tool nonsense", "x", code=3).complaint
    assert not office.conversations.exists()


def test_a_tool_that_fails_costs_a_warning(office: Office) -> None:
    office._program("claude", "exit 7")
    told = office.run('cortext new brainstorm "API design" --tool claude', "First.")
    assert "claude exited with code 7" in told.complaint
    assert office.session()["status"] == "paused"


def test_without_a_terminal_and_without_words_the_tool_is_not_started(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --agent offline', "First.", "/exit")
    told = office.run("cortext resume 001 --tool claude", code=2).complaint
    assert "claude needs a terminal or a message" in told
    assert office.run("cortext list").text.splitlines()[1].split()[4] == "paused"


# ── Two windows ──────────────────────────────────────────────────────────────────────────────────────────────────────

WINDOWS = {
    "Mine": "11111111-2222-3333-4444-555555555555",
    "Theirs": "22222222-3333-4444-5555-666666666666",
}


def in_window(office: Office, name: str, command: str) -> None:
    """What the tool is told in one of its windows, which runs it."""
    office.run(f"printf '%s' '$ {command}' | claude --session-id {WINDOWS[name]}")


@pytest.fixture
def windows(office: Office) -> Office:
    """Two, with a conversation in each; theirs is the later one."""
    (office.project / ".claude").mkdir(exist_ok=True)
    for name in WINDOWS:
        in_window(office, name, f"cortext new plan {name} --tool claude --json")
    return office


def states(office: Office) -> dict[str, tuple[str, str]]:
    cards = json.loads(office.run("cortext list --json").out)
    return {card["title"]: (card["status"], card["summary"]) for card in cards}


def going_on(office: Office, title: str) -> bool:
    """Whether nobody has stopped it: most tools hold no lock."""
    (path,) = office.conversations.glob(f"*/*-{title.lower()}/.session/session.json")
    return bool(json.loads(path.read_bytes())["status"] == "active")


@pytest.mark.parametrize("verb", ["stop", "complete"])
def test_in_one_of_two_windows_its_own_conversation_is_stopped(windows: Office, verb: str) -> None:
    in_window(windows, "Mine", f'cortext {verb} --summary "What I did." --json')
    assert not going_on(windows, "mine")
    assert going_on(windows, "theirs")
    assert states(windows)["Mine"][1] == "What I did."
    assert states(windows)["Theirs"][1] == ""
    in_window(windows, "Theirs", f'cortext {verb} --summary "What they did." --json')
    assert states(windows)["Mine"][1] == "What I did."
    assert states(windows)["Theirs"][1] == "What they did."


def test_in_a_window_without_a_conversation_that_of_another_is_not_stopped(windows: Office) -> None:
    third = "33333333-4444-5555-6666-777777777777"
    windows.run(f"printf '%s' '$ cortext stop --summary Gone 2>&1' | claude --session-id {third}")
    assert going_on(windows, "mine")
    assert going_on(windows, "theirs")
    told = windows.run(f"printf '%s' '$ cortext stop 2>&1' | claude --session-id {third}").text
    assert "there is no conversation to stop here" in told


def test_outside_of_any_window_nobody_guesses_which_of_two_is_meant(windows: Office) -> None:
    told = windows.run("cortext stop --summary Gone", code=3).complaint
    assert "2 conversations are active here" in told
    assert "002-plan-theirs" in told
    assert "001-plan-mine" in told
    assert going_on(windows, "mine")
    assert going_on(windows, "theirs")
    with windows.at_terminal("cortext stop --summary Done") as approver:
        approver.wait_for("Which one?")
        approver.enter("2")
        assert approver.end() == 0
    assert not going_on(windows, "mine")
    assert going_on(windows, "theirs")


def test_a_tool_that_does_not_say_its_session_stops_the_conversation_that_it_was_started_for(windows: Office) -> None:
    windows._program("gemini", "cortext stop --summary 'By the tool.'")
    windows.run("cortext new plan Third --tool gemini", "x")
    assert states(windows)["Third"] == ("paused", "By the tool.")
    assert going_on(windows, "mine")
    assert going_on(windows, "theirs")
