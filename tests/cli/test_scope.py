"""`segue scope`: any tool's hook can ask, by exit code or by JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Segue

HOOK_CALL = {"tool_name": "Read", "tool_input": {"file_path": "/etc/passwd"}, "cwd": "/"}


def decision(answer: str) -> str:
    told: dict[str, dict[str, str]] = json.loads(answer)
    return told["hookSpecificOutput"]["permissionDecision"] if told else ""


def test_the_exit_code_is_the_answer(cli: Segue, session: str) -> None:
    denied = cli.run("scope", "check", session, "--read", "notes.md")
    assert (denied.code, denied.text, denied.complaint) == (1, "no: no pattern allows reading it\n", "")
    assert cli.ok("scope", "allow", session, "--read", "*.md") == ""
    assert cli.ok("scope", "check", session, "--read", "notes.md") == "yes: allowed by '*.md'\n"
    assert cli.run("scope", "check", session, "--write", "notes.md").code == 1
    assert cli.run("scope", "check", session, "--shell", "cat notes.md").code == 1


def test_json_says_what_decided(cli: Segue, session: str) -> None:
    cli.ok("scope", "allow", session, "--shell", "git log *")
    result = cli.run("scope", "check", session, "--shell", "git log; rm x", "--json")
    assert result.code == 1
    assert json.loads(result.text) == {
        "id": session,
        "allowed": False,
        "action": "shell",
        "target": "git log; rm x",
        "reason": "no pattern allows 'rm x'",
        "pattern": None,
        "once": False,
        "place": None,
        "trusted": True,
    }
    told = json.loads(cli.ok("scope", "check", session, "--shell", "git log", "--json"))
    assert (told["allowed"], told["pattern"]) == (True, "git log *")


def test_allowed_once_is_used_up_by_one_check(cli: Segue, session: str) -> None:
    cli.ok("scope", "allow", session, "--write", "notes.md", "--once")
    assert cli.ok("scope", "check", session, "--write", "notes.md") == "yes: allowed once\n"
    assert cli.run("scope", "check", session, "--write", "notes.md").code == 1


def test_a_scope_goes_out_and_comes_back(cli: Segue, session: str) -> None:
    assert "this session has no scope" in cli.ok("scope", "show", session)
    text = 'paths:\n  read: ["${project_root}/**"]\n  deny: [".env"]\n'
    (cli.home / "scope.yml").write_text(text)
    cli.ok("scope", "set", session, "scope.yml")
    shown = cli.ok("scope", "show", session)
    cli.ok("scope", "set", session, "-", stdin=shown.encode())
    assert cli.ok("scope", "show", session) == shown
    assert cli.ok("scope", "check", session, "--read", "a/b").startswith("yes")
    assert cli.run("scope", "check", session, "--read", ".env").text == "no: denied by '.env'\n"
    told = json.loads(cli.ok("scope", "show", session, "--json"))
    assert (told["source"], told["scope"]["paths"]["deny"]) == ("explicit", [".env"])


def test_the_preset_of_a_session_brings_its_profile(cli: Segue, session: str) -> None:
    with cli.library.open(session) as live:
        live.use_preset("executor")
    assert "profiles/project.yml" in cli.ok("scope", "show", session)
    assert cli.ok("scope", "check", session, "--write", "src/a.py").startswith("yes")
    assert cli.run("scope", "check", session, "--read", "/etc/passwd").code == 1


def test_a_preset_of_the_project_brings_a_scope_only_if_it_is_trusted(cli: Segue, session: str) -> None:
    (cli.home / ".segue" / "agents").mkdir(parents=True)
    (cli.home / ".segue" / "agents" / "docs.md").write_text("---\npaths:\n  read: [docs/**]\n---\nWrite.")
    with cli.library.open(session) as live:
        live.use_preset("docs")
    asked = ("scope", "check", session, "--read", "docs/a")
    assert cli.ok(*asked, "--trust-project").startswith("yes")
    result = cli.run(*asked)
    assert (result.code, result.text[:2]) == (1, "no")
    assert "it comes with the project" in result.complaint


def test_a_profile_can_be_named_and_the_user_can_write_one(cli: Segue, session: str) -> None:
    (cli.home / ".config" / "segue" / "scopes").mkdir(parents=True)
    (cli.home / ".config" / "segue" / "scopes" / "docs.yml").write_text("paths: {read: ['docs/**']}")
    assert cli.ok("scope", "check", session, "--profile", "docs", "--read", "docs/a").startswith("yes")
    assert "available profiles: docs, project" in cli.refuses(
        3, "scope", "check", session, "--profile", "no", "--read", "a"
    )


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("check", "login"), 2, "exactly one of --read, --write and --shell is needed"),
        (("check", "login", "--read", "a", "--write", "b"), 2, "exactly one of"),
        (("check", "nobody", "--read", "a"), 3, "there is no session nobody"),
        (("allow", "login", "--read", "a/../b"), 2, "'a/../b' cannot be added"),
        (("set", "login", "nowhere.yml"), 2, "there is no file nowhere.yml"),
        (("set", "login", "-"), 2, "stdin line 2: it is not YAML"),
        (("forbid", "login"), 2, "use one of check, show, allow, set, hook"),
        ((), 2, "missing command"),
    ],
)
def test_mistakes_are_told_and_change_nothing(
    cli: Segue, session: str, args: tuple[str, ...], code: int, words: str
) -> None:
    before = cli.files()
    assert words in cli.refuses(code, "scope", *args, stdin=b"paths: [\n")
    assert cli.files() == before
    assert cli.library.overview(session).scope is None


def test_the_hook_answers_in_the_json_of_claude_code(cli: Segue, session: str) -> None:
    call = json.dumps(HOOK_CALL).encode()
    assert decision(cli.ok("scope", "hook", session, stdin=call)) == "deny"
    cli.ok("scope", "allow", session, "--read", "/etc/*")
    assert decision(cli.ok("scope", "hook", session, stdin=call)) == ""
    assert decision(cli.ok("scope", "hook", session, "--grant", stdin=call)) == "allow"


def test_the_hook_means_the_project_that_claude_code_names(cli: Segue, session: str) -> None:
    (cli.home / "project").mkdir()
    cli.ok("scope", "allow", session, "--read", "${project_root}/**")
    root = str(cli.home / "project")
    call = json.dumps({"tool_name": "Read", "tool_input": {"file_path": f"{root}/a"}, "cwd": root}).encode()
    answer = cli.ok("scope", "hook", session, "--grant", stdin=call, CLAUDE_PROJECT_DIR=root)
    assert decision(answer) == "allow"


@pytest.mark.parametrize("stdin", [b"", b"{", b"\xff"])
def test_whatever_goes_wrong_the_hook_says_no(cli: Segue, session: str, stdin: bytes) -> None:
    assert decision(cli.ok("scope", "hook", session, stdin=stdin)) == "deny"
    assert decision(cli.ok("scope", "hook", "nobody", stdin=json.dumps(HOOK_CALL).encode())) == "deny"
    (cli.root / f"{session}.jsonl").write_bytes(b"broken\n")
    assert decision(cli.ok("scope", "hook", session, stdin=json.dumps(HOOK_CALL).encode())) == "deny"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("hook",), "missing argument 'ID'"),
        (("hook", "login", "--store", "nonsense:/x"), "does not name a store"),
        (("hook", "login", "--grand"), "there is no option --grand"),
    ],
)
def test_a_hook_that_is_called_wrongly_blocks_the_tool(cli: Segue, args: tuple[str, ...], words: str) -> None:
    result = cli.run("scope", *args, stdin=json.dumps(HOOK_CALL).encode())
    assert (result.code, decision(result.text)) == (2, "deny")
    assert words in result.complaint


@pytest.mark.parametrize(
    "command", ["env " * 30, "env " * 5000, "$(" * 6000, "ls \ud800", "sh -c " * 3000], ids=range(5)
)
def test_no_command_makes_the_hook_hang(cli: Segue, session: str, command: str) -> None:
    cli.ok("scope", "allow", session, "--shell", "ls *")
    call = json.dumps({"tool_name": "Bash", "tool_input": {"command": command}}).encode()
    assert decision(cli.ok("scope", "hook", session, stdin=call)) == "deny"
