"""Every scenario of Cortext's specification of conversation sessions, with its own commands."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pytest

from segue.dialects.cortext.workspace import read_config
from tests.support.workspace import Office

QUESTION = "Which conversation would you like to continue? (number or search)"
STOP = "/workspace.stop-conversation"
API = "API Design Discussion"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def discuss(office: Office, title: str = API, type: str = "brainstorm", summary: str = "Leaning toward REST.") -> None:
    """A conversation that was held and stopped."""
    agent = office.agent("REST is simpler.")
    office.run(f'cortext new {type} "{title}" --agent {agent}', "REST or GraphQL?", "/exit")
    name = office.library.list()[0].id
    office.run(f'cortext stop {name} --summary "{summary}"')


def test_session_state_saved_when_conversation_ends(office: Office) -> None:
    for leaving, status in (("/exit", "paused"), ("/complete", "completed")):
        office.run("cortext new brainstorm ideas --agent offline", "What could we do?", leaving)
        name = office.library.list()[0].id.split("-", 3)[3]
        assert office.session(name)["status"] == status
        assert [message["role"] for message in office.messages(name)] == ["user", "assistant"]


def test_session_includes_agent_configuration(office: Office) -> None:
    (office.project / ".workspace" / "mcp.json").write_text('{"mcpServers": {"files": {}}}', encoding="utf-8")
    office.run("cortext new brainstorm ideas --agent offline", "What could we do?", "/exit")
    config = office.session()["agent_config"]
    assert isinstance(config, dict)
    assert config["command"] == "/workspace.brainstorm"
    prompt = str(office.json("cortext resume 001")["prompt"])
    assert config["system_prompt_hash"] == f"sha256:{sha256(prompt.encode()).hexdigest()}"
    assert config["model"] == "offline"
    assert config["tools"] == ["files"]
    assert config["tool"] == "segue"


def test_message_history_format(office: Office) -> None:
    office.run("cortext new brainstorm topic --agent offline", "First.", "Second.", "/exit")
    folder = office.folder()
    assert folder.name == "001-brainstorm-topic"
    assert sorted(one.name for one in folder.iterdir()) == [".session", "brainstorm.md"]
    assert {"session.json", "messages.jsonl"} <= {one.name for one in (folder / ".session").iterdir()}
    assert [message["role"] for message in office.messages()] == ["user", "assistant"] * 2
    times = [datetime.fromisoformat(str(message["timestamp"])) for message in office.messages()]
    assert times == sorted(times)
    assert datetime.fromisoformat(folder.parent.name).date() == times[0].date()


def test_explicit_stop_command(office: Office) -> None:
    told = office.run(f'cortext new brainstorm "{API}" --agent offline', "REST or GraphQL?", STOP)
    assert "Session saved." in told.text.splitlines()
    assert "You can continue later with /workspace.resume" in told.text
    assert office.session()["status"] == "paused"
    assert office.said()[0] == "REST or GraphQL?"


def test_stop_command_feedback(office: Office) -> None:
    told = office.run(f'cortext new brainstorm "{API}" --agent {office.agent("REST.")}', "REST or GraphQL?", STOP).text
    assert f'Conversation "{API}" has been paused.\nYou can continue later with /workspace.resume\n\nSummary: ' in told
    again = office.run('cortext stop --summary "We were exploring REST vs GraphQL."').text
    assert again == (
        "Session saved.\n\n"
        f'Conversation "{API}" has been paused.\n'
        "You can continue later with /workspace.resume\n\n"
        "Summary: We were exploring REST vs GraphQL.\n"
    )


def test_list_resumable_conversations_resume_command(office: Office) -> None:
    discuss(office)
    discuss(office, "Auth Token Expiry Issue", "debug", "Found the race.")
    office.run('cortext stop 001 --summary "Leaning toward GraphQL."')  # created first, active last
    told = office.run("cortext new plan now --agent offline", "/workspace.resume", "", "/exit").text
    expected = (
        "Here are your resumable conversations:\n\n"
        f"1. [brainstorm] {API}\n"
        "   Last active: just now | Status: paused\n"
        "   Summary: Leaning toward GraphQL.\n\n"
        "2. [debug] Auth Token Expiry Issue\n"
        "   Last active: just now | Status: paused\n"
        "   Summary: Found the race.\n"
    )
    assert expected in told


@pytest.mark.parametrize("answer", ["2", "graphql rest", "leaning"])
def test_resume_by_selection(office: Office, answer: str) -> None:
    discuss(office, summary="GraphQL or REST, leaning toward REST.")
    discuss(office, "Auth Token Expiry Issue", "debug", "Found the race.")
    with office.at_terminal(f"cortext resume --agent {office.echo}") as person:
        person.wait_for(QUESTION)
        person.enter(answer)
        person.wait_for(f'[Resuming "{API}"]')
        person.wait_for("brainstorm>")
        person.enter("Where were we?")
        person.wait_for("Where were we?")
        person.wait_for("brainstorm>")
        person.enter("/exit")
        assert person.end() == 0
    said = office.said("001-brainstorm-api-design-discussion")
    assert said[:3] == ["REST or GraphQL?", "REST is simpler.", "Where were we?"]
    assert "GraphQL or REST, leaning toward REST." in said[3]


def test_command_loading_on_resume(office: Office) -> None:
    discuss(office)
    assert office.session()["agent_config"]["command"] == "/workspace.brainstorm"  # type: ignore[index]
    told = office.run(f"cortext resume 001 --agent {office.echo}", "Go on.", "/exit").text
    prompt = office.json("cortext resume 001")["prompt"]
    assert isinstance(prompt, str)
    assert told.index(prompt.splitlines()[0]) < told.index("REST is simpler.")


def test_context_injection_on_resume(office: Office) -> None:
    discuss(office)
    told = office.run(f"cortext resume 001 --agent {office.echo}", "Go on.", "/exit").text
    assert told.startswith(f'[Resuming "{API}"]\n')
    for part in (
        f"- title: {API}",
        "- type: brainstorm",
        "Leaning toward REST.",
        "REST or GraphQL?",
        "REST is simpler.",
    ):
        assert part in told
    handed_over = office.json("cortext resume 001")
    assert "REST is simpler." not in str(handed_over)
    context = Path(str(handed_over["context_file"])).read_text(encoding="utf-8")
    parts = (f"# Conversation: {API}", "## Where it stopped", "- messages: 4", "REST or GraphQL?", "\n\nGo on.\n")
    places = [context.index(part) for part in parts]
    assert places == sorted(places)
    assert context.count("\n") == handed_over["context_lines"]


def test_command_prompt_changes_since_original_conversation(office: Office) -> None:
    types = office.project / ".workspace" / "types"
    types.mkdir()
    (types / "brainstorm.md").write_text("Be kind.\nToday is 2025-11-22.\n", encoding="utf-8")
    discuss(office)
    (types / "brainstorm.md").write_text("Be kind.\nToday is 2026-01-01.\n", encoding="utf-8")
    assert "has changed" not in office.run("cortext resume 001 --agent offline", "/exit").complaint
    (types / "brainstorm.md").write_text("Be strict.\nToday is 2026-01-01.\n", encoding="utf-8")
    told = office.run(f"cortext resume 001 --agent {office.echo}", "Go on.", "/exit")
    assert "the prompt of brainstorm has changed since this session used it" in told.complaint
    assert "-Be kind.\n+Be strict." in told.complaint
    assert "Be strict." in told.text


def test_no_resumable_conversations(office: Office) -> None:
    told = office.run("cortext resume", code=3).complaint
    assert "there are no resumable conversations here" in told
    assert 'cortext new brainstorm "topic"' in told
    chat = office.run("cortext new plan now --agent offline", "/workspace.resume", "/exit").text
    assert "There are no resumable conversations here." in chat
    assert "/workspace.brainstorm" in chat


def test_resume_by_conversation_id(office: Office) -> None:
    discuss(office, "topic")
    office.install_tool("claude")
    told = office.run("cortext resume 001-brainstorm-topic --tool claude", "Go on.").text
    assert told.startswith('[Resuming "topic"]\n')
    assert "I was told 2 messages." in told
    assert office.said()[2:] == ["Go on.", office.said()[3]]
    assert office.session()["agent_config"]["tool"] == "claude"  # type: ignore[index]


def test_resume_by_search(office: Office) -> None:
    discuss(office)
    discuss(office, "Auth Token Expiry Issue", "debug", "The api was at fault.")
    assert f'[Resuming "{API}"]' in office.run('cortext resume "api design" --agent offline', "/exit").text
    assert "[Resuming" in office.run("cortext resume at fault --agent offline", "/exit").text
    several = office.run("cortext resume api", code=1)
    assert "1. [" in several.text
    assert "2. [" in several.text
    assert "[Resuming" not in several.text
    with office.at_terminal("cortext resume api --agent offline") as person:
        person.wait_for(QUESTION)
        person.enter("token")
        person.wait_for('[Resuming "Auth Token Expiry Issue"]')
        person.wait_for("debug>")
        person.enter("/exit")
        assert person.end() == 0


def test_list_resumable_conversations_cli_resume_support(office: Office) -> None:
    discuss(office)
    discuss(office, "Auth Token Expiry Issue", "debug")
    office.run("cortext resume 001 --agent offline", "And GraphQL?", "/exit")  # created first, active last
    titles, last, other = office.run("cortext resume --list").text.splitlines()
    assert titles.split() == ["id", "type", "title", "status", "last", "active"]
    assert last.split()[:5] == ["001-brainstorm-api-design-discussion", "brainstorm", *API.split()]
    assert other.split()[:2] == ["002-debug-auth-token-expiry-issue", "debug"]
    for row in (last, other):
        id, *_, status, moment = row.split()
        assert office.folder(id).is_dir()
        assert status == "paused"
        assert datetime.fromisoformat(moment).tzinfo is not None


def test_status_transitions(office: Office) -> None:
    with office.live("cortext new brainstorm topic --agent offline") as talk:
        talk.say("What could we do?")
        assert office.session()["status"] == "active"
        talk.end()
    assert office.session()["status"] == "paused"
    with office.live("cortext resume 001 --agent offline") as talk:
        talk.say("And then?")
        assert office.session()["status"] == "active"
        talk.end()
    office.run("cortext complete 001")
    assert office.session()["status"] == "completed"
    assert "is completed and cannot become paused" in office.run("cortext stop 001", code=2).complaint
    assert office.session()["status"] == "completed"


def test_auto_pause_on_inactivity(office: Office) -> None:
    config = office.project / ".workspace" / "config.toml"
    assert read_config(config).idle_seconds == 5 * 60
    config.write_text("commit = true\n", encoding="utf-8")
    assert read_config(config).idle_seconds == 5 * 60
    config.write_text("idle_minutes = 0.01\n", encoding="utf-8")
    with office.at_terminal(f"cortext new brainstorm topic --agent {office.agent('REST is simpler.')}") as person:
        person.enter("REST or GraphQL?")
        person.wait_for("REST is simpler.")
        person.wait_for("the session is saved and paused")
        person.wait_for("Summary: You asked: REST or GraphQL? Answer: REST is simpler.")
        person.wait_for("committed ")
        assert office.session()["status"] == "paused"
        assert office.log[-1] == "[session] Pause: topic"
        elsewhere = office.agent("Elsewhere.")
        office.run(f"cortext resume 001 --agent {elsewhere}", "And here?", "/exit")  # it is not locked
        person.enter("Back again.")
        person.wait_for("continued elsewhere (turns added: 2)")
        person.wait_for("the session is saved and paused")
        person.enter("/exit")
        assert person.end() == 0
    assert office.said()[::2] == ["REST or GraphQL?", "And here?", "Back again."]


def test_completed_conversations(office: Office) -> None:
    discuss(office)
    office.run("cortext complete")
    told = office.run("cortext resume 001 --agent offline", "n", code=1)
    assert f'conversation "{API}" was marked complete' in told.complaint
    assert office.session()["status"] == "completed"
    assert "[Resuming" in office.run("cortext resume 001 --agent offline", "y", "/exit").text
    assert office.session()["status"] == "paused"
    office.run("cortext complete")
    assert "[Resuming" in office.run("cortext resume 001 --agent offline --yes", "/exit").text


def test_session_committed_with_conversation(office: Office) -> None:
    discuss(office)
    assert office.log[0] == f"[conversation] Initialize brainstorm: {API}"
    assert office.log[1] == f"[session] Pause: {API}"
    for commit in ("HEAD~2", "HEAD~1"):
        assert {".session/session.json", "brainstorm.md"} <= set(office.committed(commit))
    assert ".session/messages.jsonl" in office.committed("HEAD~1")


def test_session_only_updates(office: Office) -> None:
    discuss(office)
    before = len(office.log)
    office.run("cortext resume 001 --agent offline", "/exit")
    assert office.log[before:] == [f"[session] session update: {API}"]
    assert office.committed() == [".session/session.json"]
