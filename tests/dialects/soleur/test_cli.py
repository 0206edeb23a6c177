from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from segue.dialects.soleur.paths import SoleurPaths
from segue.dialects.soleur.sessions import open_store, show_list
from segue.dialects.soleur.store import SoleurStore
from segue.library import Library

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.machine import Machine

FAMILY = "👩\u200d👩\u200d👧\u200d👦"


def users_said(machine: Machine) -> list[list[str]]:
    """What the user said in each session, the last active first."""
    return [
        [turn.content for turn in machine.soleur.load(head.id).turns if turn.role == "user"]
        for head in machine.soleur.list()
    ]


# ── Beginning and coming back ────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_command_it_is_spar(machine: Machine) -> None:
    machine.run("soleur", "One", "/quit")
    machine.run("soleur --fresh", "Two", "/quit")
    assert "Resume last session? [Y/n]" in machine.run("soleur", "y", "Three", "/quit").complaint
    assert users_said(machine) == [["Two", "Three"], ["One"]]


def test_a_line_that_is_no_answer_begins_a_new_session_and_is_said_there(machine: Machine) -> None:
    machine.run("soleur", "One", "/quit")
    machine.run("soleur", "Two", "/quit")
    assert users_said(machine) == [["Two"], ["One"]]


def test_leaving_at_the_question_saves_nothing_and_an_empty_session_is_never_the_last(machine: Machine) -> None:
    machine.run("soleur", "One", "/quit")
    with machine.at_terminal("soleur") as approver:
        approver.wait_for("Resume last session? [Y/n]")
        approver.type("\x03")
        assert approver.end() == 130
    assert users_said(machine) == [["One"]]
    machine.run("soleur --fresh")
    assert [] in users_said(machine)
    machine.run("soleur", "y", "Two", "/quit")
    assert ["One", "Two"] in users_said(machine)


def test_a_session_that_is_open_elsewhere_is_not_offered(machine: Machine) -> None:
    machine.run("soleur", "Earlier", "/quit")
    with machine.live("soleur --fresh") as talk:
        talk.say("Busy")
        machine.run("soleur", "y", "Going on", "/quit")
        id = next(head.id for head in machine.soleur.list() if head.status == "active")
        told = machine.run(f"soleur load {id}", "Me too", code=4).complaint
        assert f"in use by process {talk.process.pid}" in told
    assert ["Earlier", "Going on"] in users_said(machine)


def test_a_damaged_session_is_not_offered_and_can_be_recovered(machine: Machine) -> None:
    machine.run("soleur", "Earlier", "/quit")
    machine.run("soleur --fresh", "Broken", "/quit")
    broken = machine.files / f"{machine.soleur.list()[0].id}.json"
    broken.write_bytes(broken.read_bytes().replace(b'"Broken"', b'"Brok\nn"'))
    before = broken.read_bytes()
    told = machine.run("soleur", "y", "Going on", "/quit").complaint
    assert f"session {broken.stem} is damaged; recover or delete it with soleur load {broken.stem}" in told
    assert "damaged" in machine.run("soleur sessions").text
    assert "Recover what can be read?" in machine.run(f"soleur load {broken.stem}", code=5).complaint
    assert broken.read_bytes() == before
    machine.run(f"soleur load {broken.stem}", "y", "/quit")
    assert machine.soleur.verify(broken.stem).damages == ()
    assert ["Earlier", "Going on"] in users_said(machine)


def test_after_kill_9_the_conversation_goes_on(machine: Machine) -> None:
    with machine.live("soleur") as talk:
        talk.say("We need a rewrite.")
        talk.kill()
    machine.run("soleur", "y", "Still there?", "/quit")
    assert users_said(machine) == [["We need a rewrite.", "Still there?"]]


def test_an_unknown_session_is_refused_in_soleurs_words(machine: Machine) -> None:
    for call in ("soleur load 1234abcd", "soleur spar --session 1234abcd"):
        told = machine.run(call, "Hello", code=3).complaint
        assert told.startswith("soleur: there is no session 1234abcd in soleur:")
        assert told.endswith("; soleur sessions shows all\n")
    assert not machine.files.exists()


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("soleur sprr", "did you mean spar?"),
        ("soleur spar --session a --fresh", "--session and --fresh cannot be combined"),
        ("soleur load", "ID"),
        ("soleur load ../escape", "invalid session id"),
        ("soleur --bogus", "--bogus"),
    ],
)
def test_a_call_that_is_wrong_says_so_and_does_nothing(machine: Machine, call: str, reason: str) -> None:
    assert reason in machine.run(call, code=2).complaint
    assert not machine.files.exists()


def test_an_agent_that_nobody_is_called_is_refused_before_anything_is_asked(machine: Machine) -> None:
    machine.run("soleur", "One", "/quit")
    told = machine.run("soleur --agent nobody", "y", code=3).complaint
    assert "there is no agent 'nobody'" in told
    assert "Resume last session?" not in told


def test_the_partner_can_be_given_other_words(machine: Machine) -> None:
    assert "sparring partner" in machine.run(f"soleur --fresh --agent {machine.echo}", "Hello").text
    machine.preset("sparring-partner", "A stranger's words.", ".soleur/agents")
    machine.preset("sparring-partner", "Always agree.", "../.soleur/agents")
    told = machine.run(f"soleur --fresh --agent {machine.echo}", "Hello").text
    assert "Always agree." in told


# ── Decisions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_an_answer_states_as_decided_is_recorded_once(machine: Machine) -> None:
    agent = machine.agent("Good.", "[DECISION: Use Postgres]")
    told = machine.run(f"soleur --agent {agent}", "Yes, Postgres.", "As I said.", "/quit").complaint
    assert told.count("decision recorded: Use Postgres") == 1
    shown = machine.run("soleur decisions").text
    assert shown.startswith("# Decisions: project\n")
    assert shown.count("Use Postgres") == 1
    (one,) = json.loads(machine.run("soleur decisions --json").text)
    assert one["session_id"] == machine.soleur.list()[0].id


def test_switched_off_nothing_is_recorded_by_itself(machine: Machine) -> None:
    agent = machine.agent("[DECISION: Use Postgres]")
    machine.run(f"soleur --agent {agent}", "/autorecord off", "Yes, Postgres.", "/quit")
    assert machine.run("soleur decisions").text == "No decisions recorded in project project\n"


def test_decisions_of_any_project_can_be_read_from_anywhere(machine: Machine) -> None:
    machine.run("soleur", "/decide Refresh early", "/quit")
    assert "Refresh early" in machine.run("cd / && soleur decisions --project project").text
    assert "Refresh early" in machine.run("soleur decisions --project").text
    assert "Refresh early" not in machine.run("cd / && soleur decisions").text


def test_the_ledger_is_for_the_users_eyes_only(machine: Machine) -> None:
    machine.run("soleur", "/decide Refresh early", "/quit")
    ledger = machine.ledgers / "project.md"
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert ledger.parent.stat().st_mode & 0o777 == 0o700


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_preview_is_cut_between_characters_as_people_see_them(machine: Machine) -> None:
    machine.run(f"soleur --agent {machine.agent(FAMILY * 30)}", "Who?", "/quit")
    _, row = machine.run("soleur sessions").text.splitlines()
    preview = row.split()[2]
    assert preview.endswith("…")
    assert preview.removesuffix("…").replace(FAMILY, "") == ""
    assert preview.count(FAMILY) > 3


def test_the_list_parses_no_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = SoleurPaths(tmp_path)
    with Library(open_store(paths)) as library, library.create() as live:
        live.add("user", "The last message")
    monkeypatch.setattr(SoleurStore, "_parse", None)  # what reads a whole file
    show_list(paths, as_json=False)
    assert "The last message" in capsys.readouterr().out


def test_nothing_in_the_list_reaches_the_terminal(machine: Machine) -> None:
    machine.run("soleur", "Hello", "/quit")
    (machine.project / "hostile.jsonl").write_text(
        json.dumps({"role": "assistant", "content": "\x1b]0;owned\x07\x1b[2J\nnext"}), encoding="utf-8"
    )
    machine.run("soleur", "y", "/import hostile.jsonl", "/quit")
    shown = machine.run("soleur sessions").out
    assert b"\x1b" not in shown
    assert len(shown.splitlines()) == 2


def test_a_session_in_which_nothing_was_said_is_listed(machine: Machine) -> None:
    machine.run("soleur")
    assert machine.run("soleur sessions").text.splitlines()[1].endswith("(no messages)")
    (row,) = json.loads(machine.run("soleur sessions --json").text)
    assert (row["message_count"], row["status"], row["agent_type"]) == (0, "paused", "sparring-partner")


def test_at_a_terminal_ids_are_short_and_loading_takes_them(machine: Machine) -> None:
    machine.run("soleur", "We need a rewrite.", "/quit")
    id = machine.soleur.list()[0].id
    with machine.at_terminal("soleur sessions") as approver:
        assert approver.end() == 0
        assert id[:8] in approver.seen
        assert id not in approver.seen
    with machine.at_terminal(f"soleur load {id[:8]}") as approver:
        approver.wait_for("We need a rewrite.")
        approver.wait_for("sparring-partner>")
        approver.enter("/quit")
        approver.wait_for(f"soleur load {id}")
        assert approver.end() == 0


def test_at_a_terminal_a_readme_is_offered_and_the_project_is_named(machine: Machine) -> None:
    (machine.project / "README.md").write_text("# Login\n", encoding="utf-8")
    with machine.at_terminal("soleur", columns=400) as approver:  # no path of a test is wrapped there
        approver.wait_for("project project")
        approver.wait_for("There is a README.md here. Use it as context? [Y/n]")
        approver.enter("y")
        approver.wait_for("README.md is attached (8 bytes)")
        approver.wait_for("sparring-partner>")
        approver.enter("/quit")
        assert approver.end() == 0
