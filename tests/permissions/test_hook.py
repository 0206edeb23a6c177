"""Claude Code's PreToolUse hook: the JSON it sends, and the answer it understands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

import segue
from segue.errors import UsageError
from segue.permissions import Permissions
from segue.permissions.hook import answer_call

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import JsonObject

SCOPE: JsonObject = {
    "paths": {"read": ["**", "~/notes/**"], "write": ["src/**"], "deny": ["secret"]},
    "shell_commands": {"allow": ["git status", "ls *"], "deny": ["rm"]},
}


@pytest.fixture
def permissions(tmp_path: Path) -> Permissions:
    library = segue.open(f"journal:{tmp_path / 'sessions'}")
    with library.create(id="s") as live:
        live.set_scope(SCOPE)
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    return Permissions(
        library.store, "s", project_root=str(root), home=str(tmp_path / "home"), state=str(tmp_path / "state")
    )


def ask(permissions: Permissions, root: Path, tool: str, tool_input: JsonObject, *, grants: bool = True) -> str:
    """The decision, as Claude Code would ask for it; empty where there is none."""
    call = {
        "session_id": "8a7e1c0e-7d0c-4a51-9f4c-2f3b8f0f0d11",
        "transcript_path": "/home/u/.claude/projects/p/8a7e1c0e.jsonl",
        "cwd": str(root / "project"),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": tool_input,
        "tool_use_id": "toolu_01",
    }
    return decision(answer_call(json.dumps(call).encode(), permissions, grants=grants))


def decision(answer: JsonObject) -> str:
    if not answer:
        return ""
    told = cast("dict[str, str]", answer["hookSpecificOutput"])
    assert told["hookEventName"] == "PreToolUse"
    assert told["permissionDecisionReason"].startswith("segue: ")
    return told["permissionDecision"]


@pytest.mark.parametrize(
    ("tool", "given", "choice"),
    [
        ("Read", {"file_path": "{root}/README.md", "offset": 1, "limit": 5}, "allow"),
        ("Read", {"file_path": "/etc/passwd"}, "deny"),
        ("Read", {"file_path": "{root}/secret/key"}, "deny"),
        ("Read", {"file_path": "{root}/src/../../x"}, "deny"),
        ("Read", {"file_path": "src/a.py"}, "allow"),
        ("Read", {"file_path": "~/notes/a"}, "allow"),
        ("Read", {}, "deny"),
        ("Read", {"file_path": 7}, "deny"),
        ("Write", {"file_path": "{root}/src/new.py", "content": "x"}, "allow"),
        ("Write", {"file_path": "{root}/README.md", "content": "x"}, "deny"),
        ("Edit", {"file_path": "{root}/src/a.py", "old_string": "a", "new_string": "b"}, "allow"),
        ("Edit", {"file_path": "{root}/setup.py", "old_string": "a", "new_string": "b"}, "deny"),
        ("MultiEdit", {"file_path": "{root}/setup.py", "edits": []}, "deny"),
        ("NotebookEdit", {"notebook_path": "{root}/src/n.ipynb", "new_source": ""}, "allow"),
        ("NotebookEdit", {"notebook_path": "/tmp/n.ipynb", "new_source": ""}, "deny"),
        ("LS", {"path": "{root}"}, "allow"),
        ("Glob", {"pattern": "**/*.py"}, "allow"),
        ("Glob", {"pattern": "*.py", "path": "{root}/src"}, "allow"),
        ("Glob", {"pattern": "*", "path": "/etc"}, "deny"),
        ("Glob", {"pattern": "/etc/*"}, "deny"),
        ("Glob", {"pattern": "../*"}, "deny"),
        ("Glob", {"pattern": "*/../../*"}, "deny"),
        ("Glob", {"pattern": "/*"}, "deny"),
        ("Grep", {"pattern": "x", "path": "{root}/src", "glob": "*.py"}, "allow"),
        ("Grep", {"pattern": "x"}, "ask"),
        ("Grep", {"pattern": "x", "path": "{root}/secret"}, "deny"),
        ("Grep", {"pattern": "x", "path": "/"}, "deny"),
        ("Bash", {"command": "git status && ls -la", "description": "Look", "timeout": 1000}, "allow"),
        ("Bash", {"command": "git status; rm -rf ."}, "deny"),
        ("Bash", {"command": "ls > src/list"}, "allow"),
        ("Bash", {"command": "ls > list"}, "deny"),
        ("Bash", {"command": ""}, "deny"),
        ("WebFetch", {"url": "https://example.org"}, "ask"),
        ("mcp__files__read", {"path": "/etc/passwd"}, "ask"),
    ],
)
def test_every_tool_is_judged_by_what_it_touches(
    permissions: Permissions, tmp_path: Path, tool: str, given: dict[str, object], choice: str
) -> None:
    root = str(tmp_path / "project")
    filled = {name: text.replace("{root}", root) if isinstance(text, str) else text for name, text in given.items()}
    assert ask(permissions, tmp_path, tool, filled) == choice


def test_unless_told_otherwise_the_hook_only_narrows(permissions: Permissions, tmp_path: Path) -> None:
    assert ask(permissions, tmp_path, "Read", {"file_path": "a"}, grants=False) == ""
    assert ask(permissions, tmp_path, "Read", {"file_path": "/etc/passwd"}, grants=False) == "deny"


def test_what_a_person_allowed_once_is_allowed_once(permissions: Permissions, tmp_path: Path) -> None:
    permissions.allow_once("write", "/elsewhere/a")
    answers = [ask(permissions, tmp_path, "Write", {"file_path": "/elsewhere/a"}, grants=False) for _ in range(2)]
    assert answers == ["allow", "deny"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"{}", b'{"tool_name": 5}', b"\xff", b'{"tool_name": "Bash", "tool_input": []}', b"[" * 100_000],
    ids=range(8),
)
def test_a_call_that_makes_no_sense_is_denied(permissions: Permissions, data: bytes) -> None:
    assert decision(answer_call(data, permissions)) == "deny"


@pytest.mark.parametrize(
    "command", ["$(" * 6000, "env " * 5000, "ls " * 300_000, "ls \\ud800", "ls \\u0000"], ids=range(5)
)
def test_no_command_is_too_much_for_the_hook(permissions: Permissions, command: str) -> None:
    data = f'{{"tool_name": "Bash", "tool_input": {{"command": "{command}"}}}}'.encode()
    assert decision(answer_call(data, permissions)) == "deny"


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError(), UsageError("wrong", hint="mend it")])
def test_whatever_goes_wrong_means_no(
    permissions: Permissions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Permissions, "guards", fail)
    for tool, field in (("Read", "file_path"), ("Bash", "command"), ("Grep", "pattern")):
        assert ask(permissions, tmp_path, tool, {field: "ls"}) == "deny"
