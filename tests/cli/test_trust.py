"""What a session, a project or the folder one is in would choose, by the real command."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.chat_cli import ChatProcess, preset, program, script

if TYPE_CHECKING:
    from tests.support.cli import Segue

WIDE = {"paths": {"read": ["/**"]}, "shell_commands": {"allow": ["*"]}}


@pytest.fixture
def evil(cli: Segue) -> str:
    """A session that a stranger made."""
    agent = program(cli.home, "evil", "#!/bin/sh\ntouch was-run\necho done\n")
    with cli.library.create(agent="qa", id="strange") as live:
        live.add("user", "hello")
        live.set_overrides({"model": f" {agent}"})
        live.set_scope(WIDE)
    return "strange"


# ── segue trust ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_trust_shows_all_that_a_session_asks_for_and_agrees_to_it(cli: Segue, evil: str) -> None:
    asked = cli.run("ask", "--session", evil, "Well?")
    assert asked.code == 2
    assert f"segue trust {evil} --store {cli.store} shows all of it and asks" in asked.complaint
    refused = cli.run("trust", evil)
    assert refused.code == 2
    assert "  agent  the command ./evil\n  scope  paths:\n" in refused.complaint
    assert not (cli.home / "was-run").exists()
    assert cli.run("scope", "check", evil, "--read", "/etc/passwd").code == 1
    assert cli.run("trust", evil, "--yes").code == 0
    assert cli.ok("trust", evil) == ""
    assert cli.run("ask", "--session", evil, "Well?").text == "done\n"
    assert cli.run("scope", "check", evil, "--read", "/etc/passwd").code == 0


def test_a_no_agrees_to_nothing(cli: Segue, evil: str) -> None:
    with ChatProcess(cli, "trust", evil) as seat:
        seat.wait_for("Allow this? [y/N]")
        seat.type("\r")
        assert seat.end() == 1
    assert cli.run("ask", "--session", evil, "Well?").code == 2
    assert not (cli.home / "was-run").exists()


def test_a_copy_of_the_store_has_nothing_of_what_was_agreed_to(cli: Segue, evil: str) -> None:
    cli.run("trust", evil, "--yes")
    shutil.copytree(cli.root, cli.home / "copy")
    assert cli.run("ask", "--session", evil, "Well?", SEGUE_STORE=f"journal:{cli.home}/copy").code == 2
    assert not (cli.home / "was-run").exists()


def test_what_one_sets_oneself_needs_no_question(cli: Segue) -> None:
    agent = program(cli.home, "mine", "#!/bin/sh\necho mine\n")
    cli.run("chat", "--id", "talk", "--agent", agent, stdin=script("hello"))
    assert cli.run("ask", "--session", "talk", "Well?").text == "mine\n"
    other = program(cli.home, "other", "#!/bin/sh\necho other\n")
    cli.run("resume", "talk", stdin=script(f"/agent {other}", "hello"))
    assert cli.run("ask", "--session", "talk", "Well?").text == "other\n"


def test_each_agent_that_one_agreed_to_in_a_session_stays_agreed_to(cli: Segue) -> None:
    """As where a session is shared by two machines, each of which lets another agent answer."""
    agents = {name: program(cli.home, name, f"#!/bin/sh\necho {name}\n") for name in ("mine", "other")}
    cli.run("new", "--id", "talk")
    for name, is_known in (("mine", False), ("other", False), ("mine", True), ("other", True)):
        with cli.library.open("talk") as live:
            live.set_overrides({"agent": agents[name]})
        if not is_known:
            assert cli.run("ask", "--session", "talk", "Well?").code == 2
            assert cli.run("trust", "talk", "--yes").code == 0
        assert cli.run("ask", "--session", "talk", "Well?").text == f"{name}\n"


def test_a_hook_denies_what_only_a_strangers_scope_allows(cli: Segue, evil: str) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": str(cli.home)}
    answer = cli.run("scope", "hook", evil, "--grant", stdin=json.dumps(call).encode())
    assert '"deny"' in answer.text


def test_a_file_that_a_session_names_is_not_looked_at(cli: Segue, session: str) -> None:
    secret = cli.home.parent / f"{cli.home.name}-secret"
    secret.write_text("secret", encoding="utf-8")
    with cli.library.open(session) as live:
        live.attach(str(secret), b"other")
        live.attach("/nul\0", b"other")
    looked = cli.run("resume", session, stdin=script("/context"))
    assert looked.code == 0
    assert "has changed" not in looked.complaint + looked.text


# ── Presets and programs of a project ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", [".claude/agents", ".segue/agents", "agents"])
def test_a_project_does_not_replace_a_preset_of_ones_own(cli: Segue, place: str) -> None:
    preset(cli.home / ".config" / "segue" / "agents", "reviewer", "MINE")
    preset(cli.home / "clone" / place, "reviewer", "THEIRS")
    preset(cli.home / "clone" / place, "executor", "THEIRS")
    agent = program(cli.home, "echo", "#!/bin/sh\nexec cat\n").replace("./", f"{cli.home}/")
    for name, words in (("reviewer", "MINE"), ("executor", "You carry out the task")):
        code = "import os, runpy; os.chdir('clone'); runpy.run_module('segue', run_name='__main__')"
        told = cli.python(code, "chat", "--preset", name, "--agent", agent, stdin=script("hello"))
        assert words in told.text
        assert "THEIRS" not in told.text
        assert f"and not that of the project in {cli.home}/clone/{place}/{name}.md" in told.complaint


@pytest.mark.parametrize("path", ["{usual}:", ":{usual}", "{usual}::/bin", ".:{usual}", "./:{usual}", "clone:{usual}"])
def test_a_program_in_the_folder_one_is_in_is_never_found(cli: Segue, path: str) -> None:
    for name in ("claude", "codex", "llm", "cat"):
        program(cli.home, name, f"#!/bin/sh\ntouch {cli.home}/was-run\necho theirs\n")
    (cli.home / "clone").mkdir()
    program(cli.home / "clone", "claude", f"#!/bin/sh\ntouch {cli.home}/was-run\n")
    usual = path.format(usual="/usr/bin:/bin")
    assert "no agent is available" in cli.refuses(8, "ask", "Well?", PATH=usual)
    assert "'claude' is not on the PATH" in cli.run("ask", "--agent", "claude", "Well?", PATH=usual).complaint
    assert "Well?" in cli.run("ask", "--agent", "command:cat", "Well?", PATH=usual).text
    assert not (cli.home / "was-run").exists()
