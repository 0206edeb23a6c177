"""`segue chat --preset executor` and its like, against models on this machine that ask for tools."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.chat_cli import ChatProcess, preset, script
from tests.support.cli import Segue
from tests.support.providers.houses import HOUSES
from tests.support.providers.server import SAFE_SECONDS, Server

if TYPE_CHECKING:
    from segue.model import Turn
    from tests.support.cli import Result
    from tests.support.providers.houses import ProviderFixture
    from tests.support.providers.server import Reply

OPENAI = HOUSES[1]
DIRECT = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
READ: tuple[str, dict[str, object]] = ("read_file", {"path": "notes.md"})
WRITE: tuple[str, dict[str, object]] = ("write_file", {"path": "out.md", "content": "written"})
EDIT: tuple[str, dict[str, object]] = (
    "edit_file",
    {"path": "notes.md", "old": "token", "new": "\x1b]0;owned\x07key"},
)
OUTSIDE: tuple[str, dict[str, object]] = ("read_file", {"path": "/etc/hostname"})
KILLING = "{sandbox: false, paths: {write: ['**']}, shell_commands: {allow: ['echo *', 'kill *']}}"
"""In a sandbox a command cannot kill us."""
STOPPED = "stopped; the tool results are saved, and /retry continues from there"


@pytest.fixture
def cli(tmp_path: Path) -> Segue:
    """In a project that holds a note and a secret."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".git").mkdir()
    (home / "notes.md").write_text("The token expires.")
    (home / ".env").write_text("secret")
    return Segue(home)


def environ_of(house: ProviderFixture, server: Server) -> dict[str, str]:
    return {
        "anthropic": {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url},
        "openai": {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"},
        "google": {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.url},
    }[house.name] | DIRECT


def chat(
    cli: Segue,
    *script_of_model: Reply,
    args: tuple[str, ...] = (),
    name: str = "executor",
    house: ProviderFixture = OPENAI,
) -> tuple[Result, Server]:
    with Server(list(script_of_model)) as server:
        options = ("chat", "--id", "talk", "--preset", name, "--agent", f"{house.name}/x", *args)
        return cli.run(*options, stdin=script("Go."), **environ_of(house, server)), server


def turns(cli: Segue) -> list[Turn]:
    return list(cli.library.load("talk").turns)


def results(cli: Segue) -> list[str]:
    return [turn.content for turn in turns(cli) if turn.role == "tool"]


def seat(cli: Segue, server: Server, *args: str, name: str = "executor") -> ChatProcess:
    return ChatProcess(
        cli, "chat", "--id", "talk", "--preset", name, "--agent", "openai/x", *args, **environ_of(OPENAI, server)
    )


# ── Without a person ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("house", HOUSES, ids=lambda house: house.name)
def test_the_shipped_preset_has_tools_with_every_provider(cli: Segue, house: ProviderFixture) -> None:
    result, server = chat(cli, house.calls(READ, OUTSIDE, words="I look."), house.answers("It expires."), house=house)
    assert (result.code, result.text) == (0, "I look.\n\nIt expires.\n")
    assert "read_file(path=notes.md)\n  done: The token expires.\n" in result.complaint
    assert "running" not in result.complaint
    refusal = "refused: out of scope: no pattern allows reading it"
    assert results(cli) == ["The token expires.", refusal]
    assert refusal in str(server.asked[1].body)


def test_what_would_need_a_yes_is_not_done_without_a_person(cli: Segue) -> None:
    chat(cli, OPENAI.calls(READ, WRITE), OPENAI.answers("Well."))
    assert results(cli) == ["The token expires.", "refused: the user did not confirm it"]
    assert not (cli.home / "out.md").exists()


def test_yes_confirms_what_is_in_scope_and_never_widens_it(cli: Segue) -> None:
    evil = ("write_file", {"path": "../out.md", "content": "x"})
    secret = ("read_file", {"path": ".env"})
    chat(cli, OPENAI.calls(WRITE, evil, secret, ("run_shell", {"command": "id"})), OPENAI.answers("."), args=("--yes",))
    assert [content.partition(":")[0] for content in results(cli)] == ["out.md was written", *["refused"] * 3]
    assert (cli.home / "out.md").read_text() == "written"
    assert not (cli.home.parent / "out.md").exists()
    assert cli.library.overview("talk").scope is None


def test_lines_of_a_script_are_no_answers_to_a_question_about_tools(cli: Segue) -> None:
    with Server([OPENAI.calls(OUTSIDE, WRITE), OPENAI.answers("One."), OPENAI.answers("Two.")]) as server:
        typed = script("Go.", "y")
        cli.run(
            "chat",
            "--id",
            "talk",
            "--preset",
            "executor",
            "--agent",
            "openai/x",
            stdin=typed,
            **environ_of(OPENAI, server),
        )
    assert [turn.content for turn in turns(cli) if turn.role == "user"] == ["Go.", "y"]
    assert all(content.startswith("refused: ") for content in results(cli))


def test_a_preset_of_the_project_has_no_scope_by_itself(cli: Segue) -> None:
    scope = {"paths": "{read: ['/**'], write: ['/**']}", "shell_commands": "{allow: ['*']}"}
    fields = {"tools": "[read_file, run_shell]", "confirm-tool-calls": "false", **scope}
    preset(cli.home / ".segue" / "agents", "docs", "You read.", **fields)
    calls = (READ, OUTSIDE, ("run_shell", {"command": "touch here"}))
    chat(cli, OPENAI.calls(*calls), OPENAI.answers("Well."), name="docs", args=("--yes",))
    assert [content.partition(":")[0] for content in results(cli)] == ["refused"] * 3
    assert not (cli.home / "here").exists()


def test_nor_does_a_preset_of_ones_own_that_builds_on_one_of_the_project(cli: Segue) -> None:
    preset(cli.home / "agents", "helper", "You read.", tools="[read_file]", paths="{read: ['/**']}")
    preset(cli.home / ".config" / "segue" / "agents", "mine", "You are mine.", parents="[helper]")
    chat(cli, OPENAI.calls(READ), OPENAI.answers("Well."), name="mine")
    assert results(cli) == ["refused: out of scope: no pattern allows reading it"]


def test_a_preset_of_ones_own_brings_its_scope(cli: Segue) -> None:
    fields = {"tools": "[read_file]", "paths": "{read: ['*.md']}"}
    preset(cli.home / ".config" / "segue" / "agents", "mine", "You are mine.", **fields)
    chat(cli, OPENAI.calls(READ, ("list_dir", {})), OPENAI.answers("Well."), name="mine")
    assert results(cli) == ["The token expires.", "there is no tool list_dir, only read_file"]


def test_ask_answers_on_standard_output_and_tells_of_tools_beside_it(cli: Segue) -> None:
    with Server([OPENAI.calls(READ), OPENAI.answers("It expires.")]) as server:
        env = environ_of(OPENAI, server)
        preset(cli.home / ".config" / "segue" / "agents", "mine", "Go.", parents="[executor]", model="openai/x")
        result = cli.run("ask", "--agent", "mine", "Why?", stdin=b"", **env)
    assert (result.code, result.text) == (0, "It expires.\n")
    assert "segue: read_file(path=notes.md)\n" in result.complaint


def test_stats_count_the_calls(cli: Segue) -> None:
    with Server([OPENAI.calls(READ, OUTSIDE), OPENAI.answers("Well.")]) as server:
        options = ("chat", "--id", "talk", "--preset", "executor", "--agent", "openai/x")
        result = cli.run(*options, stdin=script("Go.", "/stats"), **environ_of(OPENAI, server))
    assert "tools     1 done, 1 refused\n" in result.text


def test_the_store_of_gptel_logs_each_call_in_one_piece(cli: Segue) -> None:
    store = f"gptel:{cli.home / 'gptel'}"
    with Server([OPENAI.calls(READ), OPENAI.answers("It expires.")]) as server:
        options = ("chat", "--preset", "executor", "--agent", "openai/x", "--store", store)
        assert cli.run(*options, stdin=script("Go."), **environ_of(OPENAI, server)).code == 0
    (log,) = (cli.home / "gptel").rglob("tools.org")
    text = log.read_text(encoding="utf-8")
    assert text.startswith("* read_file\n:PROPERTIES:\n")
    assert '"path": "notes.md"' in text
    assert "The token expires." in text


def test_a_server_from_the_configuration_is_asked_when_the_preset_names_it(cli: Segue) -> None:
    program = Path(__file__).parents[1] / "tools" / "mcp_server.py"
    config = cli.home / ".config" / "segue" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[mcp.notes]\ncommand = "{sys.executable}"\nargs = ["{program}"]\n')
    fields = {"tools": "[mcp__notes__add]", "scope": "{mcp_tools: [mcp__notes__add]}", "confirm-tool-calls": "false"}
    preset(config.parent / "agents", "mine", "You take notes.", **fields)
    result, _ = chat(cli, OPENAI.calls(("mcp__notes__add", {"text": "hi"})), OPENAI.answers("Noted."), name="mine")
    assert results(cli) == ["noted: hi"], result
    assert (cli.home / "notes.txt").read_text() == "hi\n"


def test_a_server_that_is_configured_wrongly_is_told_with_its_file(cli: Segue) -> None:
    config = cli.home / ".config" / "segue" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[mcp.notes]\ncomand = 'x'\n")
    assert f"segue: {config}: the configuration of the MCP server notes is invalid" in cli.refuses(
        2, "chat", "--agent", "offline"
    )


# ── With a person ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_person_confirms_denies_and_allows_once(cli: Segue) -> None:
    replies = [OPENAI.calls(WRITE, EDIT, OUTSIDE, OUTSIDE), OPENAI.answers("The end.")]
    with Server(replies) as server, seat(cli, server) as approver:
        approver.wait_for("executor>")
        approver.enter("Go.")
        approver.wait_for("write_file\n  path: out.md\n--- /dev/null\n+++ out.md\n@@ -0,0 +1,1 @@\n+written\n")
        approver.wait_for("Run it? [y]es, [a]lways (write_file, in this conversation), [N]o")
        approver.enter("y")
        approver.wait_for("done: out.md was written: 7 bytes")
        assert "write_file(" not in approver.seen  # the call was shown in the question, and is not shown again
        approver.wait_for(
            "edit_file\n  path: notes.md\n--- notes.md\n+++ notes.md\n@@ -1,1 +1,1 @@\n-The token expires."
        )
        approver.wait_for("Run it? [y]es, [a]lways (edit_file, in this conversation), [N]o")
        assert "\x1b[31m-The token expires." in approver.raw
        assert "\x1b[32m+The \\x1b]0;owned\\x07key expires." in approver.raw
        approver.enter("n")
        approver.wait_for("refused: the user did not confirm it")
        approver.wait_for("no pattern allows reading it")
        approver.wait_for("Allow it anyway? [y]es, [s]cope (add it to the scope), [N]o")
        approver.enter("y")
        approver.wait_for("done: ")
        approver.wait_for("Allow it anyway?")
        approver.enter("")
        approver.wait_for("refused: ")
        approver.wait_for("The end.")
    hostname = Path("/etc/hostname").read_text(encoding="utf-8")
    assert results(cli)[2:] == [hostname, "refused: out of scope: no pattern allows reading it"]
    assert (cli.home / "notes.md").read_text(encoding="utf-8") == "The token expires."


def test_what_a_person_adds_to_the_scope_holds_from_then_on(cli: Segue) -> None:
    replies = [OPENAI.calls(OUTSIDE, OUTSIDE), OPENAI.answers("The end.")]
    with Server(replies) as server, seat(cli, server) as approver:
        approver.wait_for("executor>")
        approver.enter("Go.")
        approver.wait_for("(add it to the scope), [N]o")
        approver.enter("s")
        approver.wait_for("The end.")
    scope = cli.library.overview("talk").scope
    assert scope is not None
    assert scope["paths"]["read"] == ["${project_root}/**", "/etc/hostname"]  # type: ignore[index]
    assert len(set(results(cli))) == 1


def test_a_person_is_asked_once_about_the_scope_that_a_project_brings(cli: Segue) -> None:
    fields = {"tools": "[read_file]", "paths": "{read: ['*.md']}"}
    preset(cli.home / ".segue" / "agents", "docs", "You read.", **fields)
    replies = [OPENAI.calls(READ, READ), OPENAI.answers("The end."), OPENAI.calls(READ), OPENAI.answers("Again.")]
    with Server(replies) as server:
        with seat(cli, server, name="docs") as approver:
            approver.wait_for("docs>")
            approver.enter("Go.")
            approver.wait_for("the preset docs comes with this project and asks for this scope:")
            approver.wait_for('- "*.md"')
            approver.wait_for("Give this scope to the session? [y]es, [N]o")
            approver.enter("y")
            approver.wait_for("The end.")
            approver.wait_for("docs>")
            approver.type("\x04")
            assert approver.end() == 0
        result = cli.run("resume", "talk", stdin=script("Once more."), **environ_of(OPENAI, server))
    assert result.text.endswith("Again.\n")
    assert results(cli) == ["The token expires."] * 3


def test_ctrl_c_stops_the_tool_and_the_conversation_goes_on(cli: Segue) -> None:
    os.mkfifo(cli.home / "ready")
    fields = {"tools": "[run_shell]", "confirm-tool-calls": "false", "shell_commands": "{allow: ['*']}"}
    preset(cli.home / ".config" / "segue" / "agents", "mine", "You run.", **{**fields, "paths": "{write: [ready]}"})
    command = ("run_shell", {"command": "echo > ready; sleep 1000"})
    replies = [OPENAI.calls(command, command), OPENAI.answers("As you like.")]
    with Server(replies) as server, seat(cli, server, name="mine") as approver:
        approver.wait_for("mine>")
        approver.enter("Go.")
        (cli.home / "ready").read_text()
        approver.wait_for("running run_shell 1s")
        approver.type("\x03")
        approver.wait_for(STOPPED)
        approver.wait_for("mine>")
        approver.enter("/retry")
        approver.wait_for("As you like.")
    assert [content.partition(":")[0] for content in results(cli)] == ["interrupted", "interrupted"]


# ── kill -9 ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def resume(cli: Segue, *replies: Reply) -> Result:
    with Server(list(replies)) as server:
        return cli.run("resume", "talk", stdin=script("y"), **environ_of(OPENAI, server))


def test_killed_between_intent_and_effect_the_call_is_unknown_and_not_made(cli: Segue) -> None:
    with Server([OPENAI.calls(WRITE, words="I write.")]) as server, seat(cli, server) as approver:
        approver.wait_for("executor>")
        approver.enter("Go.")
        approver.wait_for("Run it? [y]es, [a]lways")
        approver.process.send_signal(signal.SIGKILL)
        approver.process.wait(SAFE_SECONDS)
    assert [(turn.role, turn.content) for turn in turns(cli)] == [("user", "Go."), ("assistant", "I write.")]
    result = resume(cli, OPENAI.answers("I am not sure."))
    unknown = "unknown: Segue stopped before the result was recorded; it may or may not have run"
    assert f"write_file(path=out.md, content=written)\n  {unknown}\n" in result.complaint
    assert result.text.endswith("I am not sure.\n")
    assert results(cli) == ["unknown: Segue stopped before the result was recorded; it may or may not have run"]
    assert not (cli.home / "out.md").exists()


def test_killed_between_effect_and_result_the_effect_is_there_once_and_the_call_unknown(cli: Segue) -> None:
    fields = {"tools": "[run_shell]", "confirm-tool-calls": "false", "scope": KILLING}
    preset(cli.home / ".config" / "segue" / "agents", "mine", "You run.", **fields)
    deadly = ("run_shell", {"command": "echo done >> effect; kill -9 $PPID"})
    with Server([OPENAI.calls(deadly)]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "segue", "chat", "--id", "talk", "--preset", "mine", "--agent", "openai/x"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=cli.environment(**environ_of(OPENAI, server)),
            cwd=cli.home,
        )
        process.communicate(script("Go."), timeout=SAFE_SECONDS)
        assert process.returncode == -signal.SIGKILL
    assert (cli.home / "effect").read_text() == "done\n"
    assert [turn.role for turn in turns(cli)] == ["user", "assistant"]
    result = resume(cli, OPENAI.answers("I am not sure."))
    assert "unknown: Segue stopped before the result was recorded; it may or may not have run" in result.complaint
    assert results(cli) == ["unknown: Segue stopped before the result was recorded; it may or may not have run"]
    assert (cli.home / "effect").read_text() == "done\n"


def test_killed_after_the_result_the_answer_goes_on_and_nothing_is_done_again(cli: Segue) -> None:
    fields = {"tools": "[write_file, run_shell]", "confirm-tool-calls": "false", "scope": KILLING}
    preset(cli.home / ".config" / "segue" / "agents", "mine", "You run.", **fields)
    deadly = ("run_shell", {"command": "kill -9 $PPID"})
    with Server([OPENAI.calls(WRITE), OPENAI.calls(deadly)]) as server:
        options = ("chat", "--id", "talk", "--preset", "mine", "--agent", "openai/x")
        assert cli.run(*options, stdin=script("Go."), **environ_of(OPENAI, server)).code == -signal.SIGKILL
    (cli.home / "out.md").unlink()
    result = resume(cli, OPENAI.answers("Done."))
    assert result.text.endswith("Done.\n")
    assert results(cli) == [
        "out.md was written: 7 bytes",
        "unknown: Segue stopped before the result was recorded; it may or may not have run",
    ]
    assert not (cli.home / "out.md").exists()
