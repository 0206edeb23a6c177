"""Every scenario of Soleur's specification of sessions, with its own commands."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.machine import Machine

README = "# Login\n\nTokens live for an hour.\n"


def only_file(machine: Machine) -> Path:
    (file,) = machine.files.glob("*.json")
    return file


def only_session(machine: Machine) -> dict[str, object]:
    found: dict[str, object] = json.loads(only_file(machine).read_text(encoding="utf-8"))
    return found


def test_new_session_creation(machine: Machine) -> None:
    machine.run("soleur spar")
    session = only_session(machine)
    assert UUID(str(session["id"])).version == 4
    assert only_file(machine).stem == session["id"]
    assert session["messages"] == []
    assert session["project_context"] is None
    assert datetime.fromisoformat(str(session["created_at"])).tzinfo is not None


def test_session_contains_message_history(machine: Machine) -> None:
    machine.run(f"soleur spar --agent {machine.agent('Who says so?')}", "We need a rewrite.", "Everybody.", "/quit")
    messages = only_session(machine)["messages"]
    assert isinstance(messages, list)
    assert [(message["role"], message["content"]) for message in messages] == [
        ("user", "We need a rewrite."),
        ("assistant", "Who says so?"),
        ("user", "Everybody."),
        ("assistant", "Who says so?"),
    ]
    assert all(datetime.fromisoformat(message["timestamp"]).tzinfo for message in messages)


def test_auto_save_after_agent_response(machine: Machine) -> None:
    with machine.live(f"soleur spar --agent {machine.agent('Who says so?')}") as talk:
        for number in (1, 2):
            talk.say("We need a rewrite.")
            messages = only_session(machine)["messages"]
            assert isinstance(messages, list)
            assert len(messages) == 2 * number
            assert messages[-1]["content"] == "Who says so?"
        talk.kill()
    assert only_file(machine).parent == machine.home / ".soleur" / "sessions"


def test_session_file_format(machine: Machine) -> None:
    (machine.project / "README.md").write_text(README, encoding="utf-8")
    machine.run("soleur spar", "y", "We need a rewrite — now.", "/decide Rewrite the parser", "/quit")
    text = only_file(machine).read_text(encoding="utf-8")
    assert '\n  "messages": [\n    {\n      "role": "user",\n      "content": "We need a rewrite — now.",\n' in text
    session = json.loads(text)
    assert session["project_name"] == "project"
    assert session["project_context"] == README
    assert [decision["content"] for decision in session["decisions"]] == ["Rewrite the parser"]
    assert len(session["messages"]) == 2
    assert session["created_at"] < session["updated_at"]


def test_load_existing_session(machine: Machine) -> None:
    (machine.project / "README.md").write_text(README, encoding="utf-8")
    agent = machine.agent("Who says so?")
    machine.run(f"soleur spar --agent {agent}", "y", "We need a rewrite.", "/decide Rewrite the parser", "/quit")
    id = only_file(machine).stem
    for name in (id, id[:8]):
        shown = machine.run(f"soleur load {name} --agent offline", "/history", "/decisions", "/context", "/quit").text
        for part in ("We need a rewrite.", "Who says so?", "1. Rewrite the parser", "README.md"):
            assert part in shown
    assert only_file(machine).stem == id


def test_list_sessions_command(machine: Machine) -> None:
    machine.run(f"soleur spar --agent {machine.agent('Who says so?')}", "We need a rewrite.", "/quit")
    machine.run(f"soleur spar --fresh --agent {machine.agent('Since when?')}", "It is slow.", "/quit")
    titles, last, first = machine.run("soleur sessions").text.splitlines()
    assert titles.split() == ["id", "created", "last", "message"]
    for row, message in ((last, "Since when?"), (first, "Who says so?")):
        id, created, *preview = row.split()
        assert (machine.files / f"{id}.json").exists()
        assert datetime.fromisoformat(created) == machine.soleur.load(id).created_at
        assert " ".join(preview) == message


def test_empty_session_list(machine: Machine) -> None:
    assert machine.run("soleur sessions").text == "No saved sessions found\n"


def test_resume_last_session_prompt(machine: Machine) -> None:
    assert "Resume last session?" not in machine.run("soleur spar", "We need a rewrite.", "/quit").complaint
    for answer in ("y", ""):
        told = machine.run("soleur spar", answer, "Are you still there?", "/quit").complaint
        assert "Resume last session? [Y/n]" in told.splitlines()
    with machine.at_terminal("soleur spar") as person:
        person.wait_for("Resume last session? [Y/n]")
        person.enter("")
        person.wait_for("Where it stopped:")
        person.wait_for("sparring-partner>")
        person.enter("/quit")
        assert person.end() == 0
    assert only_session(machine)["messages"][0]["content"] == "We need a rewrite."  # type: ignore[index]


def test_fresh_start_option(machine: Machine) -> None:
    machine.run("soleur spar", "We need a rewrite.", "/quit")
    machine.run("soleur spar", "n", "Something else.", "/quit")
    machine.run("soleur spar --fresh", "A third thing.", "/quit")
    said = {head.id: machine.soleur.load(head.id).turns[0].content for head in machine.soleur.list()}
    assert sorted(said.values()) == ["A third thing.", "Something else.", "We need a rewrite."]


def test_context_from_file(machine: Machine) -> None:
    (machine.project / "plan.txt").write_text("First the parser.\n", encoding="utf-8")
    told = machine.run(f"soleur spar --agent {machine.echo}", "/context plan.txt", "What first?", "/quit")
    assert only_session(machine)["project_context"] == "First the parser.\n"
    assert told.text.index("First the parser.") < told.text.index("What first?")
    (machine.project / "plan.txt").write_text("First the lexer.\n", encoding="utf-8")
    again = machine.run(f"soleur spar --agent {machine.echo}", "y", "And now?", "/quit")
    assert "plan.txt has changed since it was attached" in again.complaint
    assert "First the parser." in again.text


def test_auto_detect_readme(machine: Machine) -> None:
    (machine.project / "README.md").write_text(README, encoding="utf-8")
    told = machine.run(f"soleur spar --agent {machine.echo}", "y", "What do you know?", "/quit")
    assert "There is a README.md here. Use it as context? [Y/n]" in told.complaint
    assert "Tokens live for an hour." in told.text
    assert only_session(machine)["project_context"] == README
    declined = machine.run(f"soleur spar --fresh --agent {machine.echo}", "n", "What do you know?", "/quit")
    assert "Tokens live for an hour." not in declined.text
