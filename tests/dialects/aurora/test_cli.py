from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.machine import Machine

TURNS = (("user", "Why does login fail?"), ("assistant", "The token expires."))


# ── Who answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_that_nobody_is_called_is_refused_before_anything_begins(machine: Machine) -> None:
    machine.preset("qa-test")
    machine.preset("architect")
    told = machine.run("aur spawn -i --agent qa-tests", "Hello", code=3).complaint
    assert "there is no agent 'qa-tests'; did you mean qa-test?" in told
    assert "architect" in told
    assert not machine.journals.exists()


@pytest.mark.parametrize("folder", [".aurora/agents", ".claude/agents", "agents"])
def test_presets_of_the_project_answer_and_are_recorded_as_they_are_named(machine: Machine, folder: str) -> None:
    machine.preset("qa-test", "Ask what was tested.", folder)
    machine.run("aur spawn -i --agent qa-test --session talk", "Hello", "/exit")
    session = machine.aurora.load("talk")
    assert session.agent == "qa-test"
    assert session.preset is not None
    assert session.preset.name == "qa-test"


@pytest.mark.parametrize("folder", ["../.aurora/agents", "../.claude/agents"])
def test_presets_of_the_user_answer_in_every_project(machine: Machine, folder: str) -> None:
    machine.preset("qa-test", "Ask what was tested.", folder)
    machine.run("aur spawn -i --agent qa-test --session talk", "/exit")
    assert machine.aurora.load("talk").agent == "qa-test"


def test_a_prompt_that_changed_since_is_told(machine: Machine) -> None:
    machine.preset("qa-test", "Ask what was tested.")
    machine.run("aur spawn -i --agent qa-test --session talk", "Hello", "/exit")
    machine.preset("qa-test", "Ask who tested it.")
    told = machine.run("aur spawn --resume talk", "/exit").complaint
    assert "the prompt of qa-test has changed since this session used it" in told
    assert "+Ask who tested it." in told


def test_another_agent_can_take_over(machine: Machine) -> None:
    machine.run("aur spawn -i --session talk", "Hello", "/exit")
    assert (
        "Who says so?"
        in machine.run(f"aur spawn --resume talk --agent {machine.agent('Who says so?')}", "Everybody", "/exit").text
    )


def test_the_budget_is_that_of_the_settings(machine: Machine) -> None:
    (machine.home / ".aurora").mkdir()
    (machine.home / ".aurora" / "config.json").write_text('{"spawner.interactive.max_tokens": 4321}', encoding="utf-8")
    assert "of 4,321 tokens" in machine.run("aur spawn -i", "Hello", "/stats").text


def test_broken_settings_are_told_and_the_conversation_begins(machine: Machine) -> None:
    (machine.home / ".aurora").mkdir()
    (machine.home / ".aurora" / "config.json").write_text("{", encoding="utf-8")
    talked = machine.run("aur spawn -i", "Hello", "/exit")
    assert talked.complaint.startswith("aur: ")
    assert "config.json is not JSON" in talked.complaint
    assert "Hello" in talked.text


# ── Leaving and coming back ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("last", "status"),
    [("/exit", "completed"), ("Hello", "completed"), ("/pause", "paused"), ("/complete", "completed")],
)
def test_how_it_was_left_is_its_status(machine: Machine, last: str, status: str) -> None:
    left = machine.run("aur spawn -i --session talk", last)
    assert f"Session saved: {machine.journals}/talk.jsonl" in left.complaint
    assert "Resume with: aur spawn --resume talk" in left.complaint
    _, row = machine.run(f"aur spawn --list-sessions --status {status}").text.splitlines()
    assert row.split()[0] == "talk"


def test_after_kill_9_every_saved_turn_is_there_and_the_conversation_goes_on(machine: Machine) -> None:
    with machine.live("aur spawn -i --session talk") as talk:
        talk.say("Why does login fail?")
        talk.say("And on Monday?")
        talk.kill()
    told = machine.run("aur spawn --resume talk", "Still there?", "/exit").complaint
    assert "interrupted" in told
    said = [turn.content for turn in machine.aurora.load("talk").turns if turn.role == "user"]
    assert said == ["Why does login fail?", "And on Monday?", "Still there?"]


def test_coming_back_to_a_completed_session_warns_and_goes_on(machine: Machine) -> None:
    machine.journal("done", *TURNS)
    with machine.live("aur spawn --resume done") as talk:
        talk.say("One more thing")
        assert machine.aurora.overview("done").status == "active"
    told = machine.run("aur spawn --resume done", "/pause").complaint
    assert "Resuming completed session" not in told  # it was interrupted, and is not completed any more
    assert (
        "Resuming completed session old"
        in machine.run(f"aur spawn --resume {machine.journal('old', *TURNS).stem}", "/exit").complaint
    )


def test_an_unknown_session_is_named_and_the_known_ones_are_listed(machine: Machine) -> None:
    machine.journal("review", *TURNS)
    before = sorted(machine.journals.iterdir())
    result = machine.run("aur spawn --resume unknown-123", "Hello", code=1)
    assert result.complaint == "aur: Session not found: unknown-123\n"
    assert [line.split()[0] for line in result.text.splitlines()] == ["session_id", "review"]
    assert sorted(machine.journals.iterdir()) == before


def test_where_there_is_no_session_at_all_it_says_how_to_begin_one(machine: Machine) -> None:
    result = machine.run("aur spawn --resume unknown-123", code=1)
    assert (result.text, result.complaint.splitlines()) == (
        "",
        ["aur: Session not found: unknown-123", "aur: no sessions found; start one with aur spawn -i"],
    )
    assert machine.run("aur spawn --list-sessions").complaint == "aur: no sessions found; start one with aur spawn -i\n"
    assert not machine.journals.exists()


def test_the_beginning_of_an_id_is_enough_if_only_one_begins_so(machine: Machine) -> None:
    machine.journal("session-1", *TURNS)
    machine.journal("session-2", *TURNS)
    machine.journal("other", *TURNS)
    machine.run("aur spawn --resume oth", "/exit")
    assert "session-2, session-1" in machine.run("aur spawn --resume sess", code=3).complaint
    with machine.aurora.create(id="titled", title="Login bug", agent="qa-test") as live:
        live.add("user", "Why?")
    for text in ("tled", "'bug login'"):
        assert "titled" in machine.run(f"aur spawn --resume {text}", "/exit").complaint
    assert "is not the complete id of titled" in machine.run("aur spawn --delete-session login --yes", code=2).complaint


def test_in_the_middle_of_a_conversation_errors_name_the_commands_of_this_tool(machine: Machine) -> None:
    machine.journal("broken", *TURNS).write_bytes(b"{\n{\n")
    told = machine.run("aur spawn -i", "/load unknown", "/load broken", "/exit", code=1).complaint
    assert "no session matches 'unknown'; /list shows all" in told
    assert "; aur spawn --resume broken asks whether to recover or to delete it" in told


def test_of_a_session_of_which_nothing_can_be_read_only_the_deletion_is_left(machine: Machine) -> None:
    file = machine.journal("broken")
    file.write_bytes(b"{\n{\n")
    assert "nothing in it can be read" in machine.run("aur spawn --resume broken", "y", code=5).complaint
    assert file.read_bytes() == b"{\n{\n"
    assert "Deleted session broken" in machine.run("aur spawn --resume broken", "y", "y").complaint
    assert not file.exists()


def test_an_id_that_is_taken_is_not_begun_again(machine: Machine) -> None:
    file = machine.journal("taken", *TURNS)
    before = file.read_bytes()
    told = machine.run("aur spawn -i --session taken", "Hello", code=4).complaint
    assert "session taken exists already; choose another id, or resume it with aur spawn --resume taken" in told
    assert file.read_bytes() == before


@pytest.mark.parametrize("id", ["../escape", "a/b", ".hidden", "x" * 200])
def test_an_id_that_could_be_no_file_of_ours_is_refused(machine: Machine, id: str) -> None:
    for option in ("-i --session", "--resume", "--delete-session"):
        assert "invalid session id" in machine.run(f"aur spawn {option} {id}", "Hello", code=2).complaint
    assert not machine.journals.exists()


# ── Looking after them ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_listing_for_programs_has_the_names_of_the_table(machine: Machine) -> None:
    machine.journal("one", *TURNS)
    (row,) = json.loads(machine.run("aur spawn --list-sessions --json").text)
    wanted = {"session_id": "one", "agent": "qa-test", "turn_count": 2, "status": "completed"}
    assert row | wanted == row
    assert row["created_at"] == "2020-01-01T00:00:00Z"
    assert json.loads(machine.run("aur spawn --list-sessions --agent nobody --json").text) == []


def test_a_damaged_session_is_listed_as_such(machine: Machine) -> None:
    machine.journal("broken", *TURNS).write_bytes(b"{\n{\n")
    result = machine.run("aur spawn --list-sessions")
    assert result.text.splitlines()[1].split()[-1] == "damaged"
    assert "recover or delete it with aur spawn --resume broken" in result.complaint


def test_nothing_in_a_listing_reaches_the_terminal(machine: Machine) -> None:
    machine.journal("hostile", agent="\x1b]0;owned\x07\x1b[2J\u202e")
    shown = machine.run("aur spawn --list-sessions").out
    assert b"\x1b" not in shown
    assert "\u202e".encode() not in shown


def test_where_nobody_is_asked_only_a_whole_id_is_deleted(machine: Machine) -> None:
    machine.journal("session-123", *TURNS)
    for call in ("aur spawn --delete-session session", "aur spawn --delete-session session --yes"):
        assert "is not the complete id of session-123; nothing was deleted" in machine.run(call, code=2).complaint
    told = machine.run("aur spawn --delete-session nothing", code=3).complaint
    assert told == "aur: Session not found: nothing; aur spawn --list-sessions shows all\n"
    assert json.loads(machine.run("aur spawn --delete-session session-123 --json").text) == {"deleted": ["session-123"]}


def test_a_session_in_use_is_not_deleted(machine: Machine) -> None:
    with machine.live("aur spawn -i --session talk") as talk:
        talk.say("Hello")
        assert "is in use by process" in machine.run("aur spawn --delete-session talk", code=4).complaint
    assert machine.aurora.load("talk").turn_count == 2


def test_cleaning_for_programs_says_what_went_and_what_stayed(machine: Machine) -> None:
    machine.journal("old", *TURNS)
    machine.journal("broken").write_bytes(b"{\n{\n")
    done = json.loads(machine.run("aur spawn --clean-sessions 30 --json").text)
    assert done["deleted"] == ["old"]
    assert [head.id for head in machine.aurora.list()] == ["broken"]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("aur spawn", "nothing to do"),
        ("aur spawn --agent qa-test", "nothing to do"),
        ("aur spawn tasks.md", "unexpected extra argument"),
        ("aur spawn -i --list-sessions", "--interactive and --list-sessions cannot be combined"),
        ("aur spawn -i --status active", "--status cannot be combined with --interactive"),
        ("aur spawn --resume a --session b", "--session cannot be combined with --resume"),
        ("aur spawn --list-sessions --yes", "--yes cannot be combined with --list-sessions"),
        ("aur spawn -i --json", "--json cannot be combined with --interactive"),
        ("aur spawn --list-sessions --status asleep", "asleep"),
        ("aur spawn --clean-sessions 0", "0"),
        ("aur spawn --clean-sessions soon", "soon"),
        ("aur swapn", "swapn"),
    ],
)
def test_a_call_that_is_wrong_says_so_and_does_nothing(machine: Machine, call: str, reason: str) -> None:
    result = machine.run(call, code=2)
    assert result.text == ""
    assert reason in result.complaint
    assert not machine.journals.exists()


def test_help_names_every_option_and_shows_examples(machine: Machine) -> None:
    shown = machine.run("aur spawn --help").text
    for option in (
        "--interactive",
        "--agent",
        "--session",
        "--resume",
        "--list-sessions",
        "--delete-session",
        "--clean-",
    ):
        assert option in shown
    assert "aur spawn --resume my-review" in shown
    assert "spawn" in machine.run("aur").text
    assert machine.run("aur --version").text.startswith("aur ")
