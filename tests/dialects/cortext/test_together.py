"""Two terminals in one workspace, and processes that die in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.mounts import make_read_only, small_disk
from tests.support.workspace import Office

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "REST or GraphQL?"


def begun(office: Office) -> None:
    office.run('cortext new brainstorm "API design" --agent offline', QUESTION, "/exit")


def at_once(office: Office, *commands: str) -> list[int]:
    """Start them all, then wait for all; their exit codes."""
    processes = [
        subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=office.project,
            env=office.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    for process in processes:
        process.communicate(timeout=60)
    return [process.returncode for process in processes]


def test_what_is_open_in_one_terminal_is_neither_stopped_nor_resumed_in_another(office: Office) -> None:
    with office.live("cortext new brainstorm topic --agent offline") as talk:
        talk.say(QUESTION)
        for command in ("cortext resume 001", "cortext stop 001"):
            told = office.run(command, code=4).complaint
            assert f"is in use by process {talk.process.pid}" in told
        talk.say("And then?")
        assert talk.end() == 0
    assert [message["role"] for message in office.messages()] == ["user", "assistant"] * 2
    assert office.session()["status"] == "paused"


def test_stopping_and_resuming_at_once_loses_nothing(office: Office) -> None:
    begun(office)
    said = office.said()
    codes = at_once(
        office,
        'cortext stop 001 --summary "One."',
        "cortext resume 001 --json",
        'cortext stop 001 --summary "Two."',
        "cortext resume 001 --json",
    )
    assert set(codes) <= {0, 4}
    assert 0 in codes
    assert office.said() == said
    office.run('cortext stop 001 --summary "Three."')
    assert office.session()["status"] == "paused"
    assert office.session()["context_summary"] == "Three."
    assert office.library.verify(office.library.list()[0].id).damages == ()


def test_conversations_begun_at_once_get_numbers_of_their_own(office: Office) -> None:
    assert at_once(office, *(f"cortext new plan topic-{number} --json" for number in range(4))) == [0] * 4
    names = sorted(folder.name for folder in office.conversations.glob("*/*"))
    assert [name[:3] for name in names] == ["001", "002", "003", "004"]


def assert_all_stops_are_committed(office: Office, count: int) -> None:
    names = [f"topic-{number}" for number in range(count)]
    for name in names:
        office.run(f"cortext new plan {name} --json")
    commands = [f"cortext stop {name} --summary 'Here.' --json > {name}.json" for name in names]
    assert at_once(office, *commands) == [0] * count
    told = [json.loads((office.project / f"{name}.json").read_bytes()) for name in names]
    assert [one["commit"]["status"] for one in told] == ["committed"] * count
    assert sorted(office.log[count:]) == sorted(f"[session] Pause: {name}" for name in names)
    assert office.git("status", "--porcelain", "conversations") == ""


def test_stops_at_once_are_all_committed(office: Office) -> None:
    assert_all_stops_are_committed(office, 5)


@pytest.mark.long
def test_forty_stops_at_once_are_all_committed(office: Office) -> None:
    assert_all_stops_are_committed(office, 40)


def test_a_conversation_whose_process_was_killed_reads_as_paused_and_goes_on(office: Office) -> None:
    with office.live("cortext new brainstorm topic --agent offline") as talk:
        talk.say(QUESTION)
        talk.kill()
    assert office.run("cortext list").text.splitlines()[1].split()[3] == "paused"
    office.run("cortext resume 001 --agent offline", "And then?", "/exit")
    assert [message["role"] for message in office.messages()] == ["user", "assistant"] * 2


def test_a_workspace_on_a_read_only_disk_can_be_listed_and_searched(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 16 << 20) as is_mounted:
        office = Office(tmp_path / "disk")
        begun(office)
        listed = office.run("cortext list").text
        if is_mounted:
            make_read_only(tmp_path / "disk")
        else:
            office.project.chmod(0o500)
        assert office.run("cortext list").text == listed
        assert office.run("cortext resume --list api").text == listed
        told = office.run("cortext stop", code=6 if is_mounted else 0)
        assert not is_mounted or "read-only" in told.complaint


# ── The end of a terminal, and of the machine ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_chat_that_must_end_leaves_a_summary_and_a_commit(office: Office, number: signal.Signals) -> None:
    command = f'cortext new brainstorm "API design" --agent {office.agent("REST is simpler.")}'
    with office.at_terminal(command) as person:
        person.enter(QUESTION)
        person.wait_for("REST is simpler.")
        person.wait_for("brainstorm>")
        if number is signal.SIGHUP:
            person.hang_up()
        else:
            os.kill(person.process.pid, number)
            person.wait_for("the session is saved and paused")
            person.wait_for(f"Summary: You asked: {QUESTION} Answer: REST is simpler.")
            person.wait_for("committed ")
            assert person.end() == 128 + number
    found = office.session()
    assert (found["status"], found["context_summary"]) == (
        "paused",
        f"You asked: {QUESTION} Answer: REST is simpler.",
    )
    assert office.log[-1] == "[session] Pause: API design"
    assert QUESTION in office.document().read_text(encoding="utf-8")
    assert office.git("status", "--porcelain", "conversations") == ""


def test_a_conversation_in_an_ai_tool_that_must_end_is_saved_too(office: Office) -> None:
    office.install_tool("answering")
    linger = "trap 'kill $!; exit 0' TERM\n/bin/sleep 600 >/dev/null 2>&1 &\necho ready\nwait"
    office._program("claude", f'answering "$@"\n{linger}')
    with office.live('cortext new brainstorm "API design" --tool claude') as talk:
        assert talk.process.stdin is not None
        assert talk.process.stdout is not None
        talk.process.stdin.write(QUESTION)
        talk.process.stdin.close()
        talk.process.stdin = None
        assert "ready\n" in iter(talk.process.stdout.readline, "")
        talk.process.send_signal(signal.SIGTERM)
        assert talk.end() == 0
    assert office.said()[0].endswith(QUESTION)
    assert office.session()["status"] == "paused"
    assert office.log[-1] == "[session] Pause: API design"
