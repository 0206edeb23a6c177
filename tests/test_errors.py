"""Claims about errors: they carry fields, and only a command line names its commands."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import segue
from segue.console.error_messages import PLAIN_HINTS, SEGUE_HINTS, ErrorHints
from segue.errors import (
    Damage,
    DamagedError,
    NotInTrashError,
    SegueError,
    SessionExistsError,
    SessionNotFoundError,
    StorageError,
    TransitionError,
    UntrustedError,
)

SOURCE = Path(segue.__file__).parent
SURFACES = ("cli", "console", "dialects")
SLASH_COMMANDS = ("chat/commands", "chat/repl.py")
"""Where the slash commands of a conversation are defined, and may be named."""
DEFAULTS = ("chat/dialect.py",)
"""What a conversation prints in the `segue` command, to be replaced by a dialect."""
VERBS = sorted(path.stem.strip("_") for path in (SOURCE / "cli").glob("[!_]*.py"))
COMMAND = re.compile(rf"\bsegue ({'|'.join(VERBS)}|gptel)\b|\b(cortext|aur|soleur|ralphtool) [a-z-]+")
OPTION = re.compile(r"(?<!\S)--[a-z]")
SLASH = re.compile(r"(?<!\S)/[a-z]+\b(?!/)")
DAMAGED = DamagedError("s", [Damage("s.jsonl line 2", "it is torn")])
AUR = ErrorHints(list="aur spawn --list-sessions", resume="aur spawn --resume {id}")


def lower_modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in SURFACES)


def texts(tree: ast.AST) -> list[str]:
    """Every string literal; of an f-string all of it, with {} for its values."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            found.append(node.value)
    return found


def without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [
                one
                for one in node.body
                if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant | ast.JoinedStr))
            ]
    return tree


def error_texts(tree: ast.AST) -> list[str]:
    """The string literals of errors that are made here, and of every `hint`."""
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name.endswith("Error"):
                found += texts(node)
            case ast.keyword(arg="hint", value=value):
                found += texts(value)
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=value) if "hint" in name:
                found += texts(value)
    return found


def test_the_scan_sees_commands_in_errors_and_hints() -> None:
    tree = ast.parse("raise UsageError('no', hint=f'segue verify {x} --all')\nerror.hint = '/exit leaves'")
    found = error_texts(tree)
    assert any(COMMAND.search(text) for text in found)
    assert any(OPTION.search(text) for text in found)
    assert any(SLASH.search(text) for text in found)


def test_no_text_of_the_library_names_a_command() -> None:
    found = [
        (name, text)
        for path in lower_modules()
        if (name := path.relative_to(SOURCE).as_posix()) not in DEFAULTS
        for text in texts(without_docstrings(ast.parse(path.read_bytes())))
        if COMMAND.search(text)
    ]
    assert found == []


def test_no_error_of_the_library_names_an_option() -> None:
    found = [
        (name, text)
        for path in lower_modules()
        if not (name := path.relative_to(SOURCE).as_posix()).startswith("git/")  # they are options of git
        for text in error_texts(ast.parse(path.read_bytes()))
        if OPTION.search(text)
    ]
    assert found == []


def test_only_the_slash_commands_name_slash_commands() -> None:
    found = [
        (name, text)
        for path in lower_modules()
        if not (name := path.relative_to(SOURCE).as_posix()).startswith(SLASH_COMMANDS)
        for text in error_texts(ast.parse(path.read_bytes()))
        if SLASH.search(text)
    ]
    assert found == []


def test_no_hint_is_recognized_by_its_text() -> None:
    pattern = re.compile(r"hint\.(startswith|endswith|removeprefix|replace)\(|in \w*\.hint\b|\.hint ==")
    assert [
        path.name for path in SOURCE.rglob("*.py") if pattern.search(path.read_text()) and "testing" not in path.parts
    ] == []


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (DAMAGED, "segue verify s shows every place; segue recover s salvages the rest"),
        (SessionExistsError("s"), "choose another id, or resume it with segue resume s"),
        (SessionNotFoundError("s", "journal:/x"), "segue list shows all"),
        (SessionNotFoundError("s", "journal:/x", near=["t"]), "did you mean t?"),
        (NotInTrashError("s", "journal:/x"), "segue trash list shows what is in it"),
        (TransitionError("s", "completed", "paused"), "segue reopen s makes it paused again"),
        (TransitionError("s", "paused", "interrupted", allowed=["active"]), "from paused it can become active"),
        (
            UntrustedError("no", session_id="s", store="journal:/a b", agent="command:cat x"),
            "use --agent 'command:cat x', or name another; segue trust s --store 'journal:/a b' shows all of it and asks",  # noqa: E501
        ),
        (UntrustedError("no", session_id="s"), "segue trust s shows it and asks; segue scope set replaces it"),
        (StorageError("no", hint="check the disk"), "check the disk"),
    ],
)
def test_segue_names_its_commands(error: SegueError, hint: str) -> None:
    assert SEGUE_HINTS.hint_for(error) == hint
    assert SEGUE_HINTS.describe(error) == f"{error}; {hint}"


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (DAMAGED, "aur spawn --resume s asks whether to recover or to delete it"),
        (SessionExistsError("s"), "choose another id, or resume it with aur spawn --resume s"),
        (SessionNotFoundError("s", "journal:/x"), "aur spawn --list-sessions shows all"),
        (TransitionError("s", "completed", "paused"), "resume it with force first"),
    ],
)
def test_a_dialect_names_its_own(error: SegueError, hint: str) -> None:
    assert AUR.hint_for(error) == hint


@pytest.mark.parametrize("error", [DAMAGED, SessionExistsError("s"), SessionNotFoundError("s", "journal:/x")])
def test_without_commands_a_hint_is_the_one_of_the_error(error: SegueError) -> None:
    assert PLAIN_HINTS.hint_for(error) == error.hint
    assert PLAIN_HINTS.describe(error) == (f"{error}; {error.hint}" if error.hint else str(error))
