"""Claims about the project itself: its scripts, its pins, its files and the one seam through which it writes."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "segue"
PINNED = sorted((ROOT / "requirements").glob("*.txt"))

# Put together here, so that this file does not hold what it looks for.
REGISTRY_WORDS = ("py" + "pi", "python" + "hosted", "npm" + "js")
REGISTRY_HOSTS = ("py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "deb." + "debian.org")
WORKPLACE = re.compile(rb"(?<![\w.~/-])/wor" + rb"k/")

LONGEST_FILE_LINES = 400


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def pyproject() -> dict[str, dict[str, list[str]]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def runtime_dependencies() -> list[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in pyproject()["project"]["dependencies"])
    return [name.group().lower() for name in names if name]


def optional_dependencies() -> list[str]:
    extras = cast("dict[str, list[str]]", pyproject()["project"]["optional-dependencies"]).values()
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for lines in extras for line in lines]


MODULES = {
    "agent-framework-core": "agent_framework",
    "google-genai": "google",
    "langgraph-checkpoint": "langgraph",
    "openai-agents": "agents",
    "pydantic-ai-slim": "pydantic_ai",
    "ruamel-yaml": "ruamel",
    "strands-agents": "strands",
}
"""Distributions that are imported under another name."""


def module_names(dependencies: list[str]) -> set[str]:
    """The packages that these distributions hold; `prompt-toolkit` is imported as prompt_toolkit."""
    return {MODULES.get(name, name.replace("-", "_")) for name in dependencies}


def project_files() -> list[Path]:
    """Return what is committed or would be: tracked files, and new ones that nothing ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    paths = (ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


# ── Scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("script", ["segue", "test", "scripts/names", "scripts/pin", "scripts/walk", ".ci/run"])
def test_the_scripts_can_be_executed(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


def test_ci_runs_the_command_that_people_run() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == "exec ./test"
    assert "set -euo pipefail" in lines


def test_help_of_the_test_command_says_how_to_reach_the_long_tier() -> None:
    shown = subprocess.run([ROOT / "test", "--help"], check=True, capture_output=True, text=True).stdout
    assert "./test --long" in shown


# ── Dependencies ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", PINNED, ids=relative)
def test_pinned_files_name_no_registry(file: Path) -> None:
    text = file.read_text(encoding="utf-8").lower()
    assert [word for word in (*REGISTRY_WORDS, "://") if word in text] == []


@pytest.mark.parametrize("file", PINNED, ids=relative)
def test_every_pinned_requirement_has_one_version_and_a_hash(file: Path) -> None:
    logical_lines = file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    requirements = [line for line in logical_lines if line.strip() and not line.lstrip().startswith("#")]
    assert requirements
    loose = [line for line in requirements if not re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)]
    assert loose == []


def test_there_are_pins_for_every_environment() -> None:
    assert [file.stem for file in PINNED] == ["bench", "bridges", "run", "test"]


@pytest.mark.parametrize("file", PINNED, ids=relative)
def test_every_runtime_dependency_is_pinned(file: Path) -> None:
    pinned = set(re.findall(r"^([\w.-]+)==", file.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(runtime_dependencies()) <= pinned


@pytest.mark.parametrize("dependency", runtime_dependencies())
def test_every_runtime_dependency_is_explained_in_the_architecture(dependency: str) -> None:
    # As a name, not as a word: `rich`, **rich**, [rich](…) or a cell of a table.
    assert re.search(rf"[`*|\[]\s*{dependency}\b", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))


def test_the_package_imports_only_what_it_declares() -> None:
    declared = module_names([*runtime_dependencies(), *optional_dependencies()])
    allowed = {"segue", *sys.stdlib_module_names, *declared}
    shipped_tests = allowed | {"hypothesis", "pytest"}
    undeclared = [
        f"{relative(file)}:{line} imports {module}"
        for file in source_files()
        for line, module in imported_modules(ast.parse(file.read_bytes()))
        if module not in (shipped_tests if is_in(file, "testing") else allowed)
    ]
    assert undeclared == []


def imported_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module.partition(".")[0]


# ── Files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_source_file_is_longer_than_one_idea_needs() -> None:
    counted = {relative(file): file.read_bytes().count(b"\n") for file in source_files()}
    assert {name: lines for name, lines in counted.items() if lines > LONGEST_FILE_LINES} == {}


def test_no_file_names_the_host_of_a_registry() -> None:
    naming = [
        f"{relative(file)} names {host}"
        for file in project_files()
        for host in REGISTRY_HOSTS
        if host.encode() in file.read_bytes().lower()
    ]
    assert naming == []


def test_no_file_holds_a_path_of_the_place_where_it_was_written() -> None:
    assert [relative(file) for file in project_files() if WORKPLACE.search(file.read_bytes())] == []


# ── The one seam ─────────────────────────────────────────────────────────────────────────────────────────────────────

OS_WRITES = {
    *("open", "write", "writev", "pwrite", "pwritev", "fdopen", "sendfile", "copy_file_range", "splice"),
    *(
        "rename",
        "renames",
        "replace",
        "link",
        "symlink",
        "unlink",
        "remove",
        "mkdir",
        "makedirs",
        "rmdir",
        "removedirs",
    ),
    *("fsync", "fdatasync", "sync", "ftruncate", "truncate", "posix_fallocate", "mkfifo", "mknod", "lockf"),
    *("chmod", "fchmod", "lchmod", "chown", "fchown", "lchown", "utime"),
}
PATH_WRITES = {
    **dict.fromkeys(("touch", "mkdir", "rmdir", "unlink"), 0),
    **dict.fromkeys(("write_text", "write_bytes", "rename", "replace", "symlink_to", "hardlink_to", "chmod"), 1),
}
"""How many positional arguments the method of a path takes: a durable folder is told a name as well, a text's `replace`
takes two, a moment's none."""
WRITING_MODULES = {"fcntl", "tempfile", "shutil", "mmap"}
WRITING_ROOMS = ("durable", "testing", "sandbox")
"""In `testing`, broken stores and torn files are made on purpose; `sandbox` makes places for mounts."""


def is_in(file: Path, room: str) -> bool:
    return file.is_relative_to(SOURCE / room)


def test_only_the_durable_room_writes_files_and_takes_locks() -> None:
    found = [
        f"{relative(file)}:{line} {what}"
        for file in source_files()
        if not any(is_in(file, room) for room in WRITING_ROOMS)
        for line, what in writes(ast.parse(file.read_bytes()))
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.replace('a', 'b')",
        "import os as system; system.fsync(3)",
        "from os import unlink; unlink('a')",
        "import os; rename = staticmethod(os.rename)",
        "import fcntl",
        "from tempfile import mkstemp",
        "open('a', 'w')",
        "open('a', mode)",
        "open('a', mode='r+b')",
        "path.open('ab')",
        "path.write_text('a', encoding='utf-8')",
        "path.unlink(missing_ok=True)",
        "(root / 'a').mkdir(exist_ok=True)",
        "temporary.replace(final)",
    ],
)
def test_the_seam_check_sees(code: str) -> None:
    assert list(writes(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.fspath(path)",
        "open('a')",
        "open('a', 'rb')",
        "path.open('rb')",
        "library.open('qa-test')",
        "segue.open(url)",
        "text.replace('a', 'b')",
        "moment.replace(tzinfo=None)",
        "structs.replace(turn, tokens=7)",
        "folder.unlink('a')",
        "from segue import durable; durable.mkdir(path)",
        "from segue.durable import rename; rename(a, b)",
        "from segue.durable import files; files.unlink(path)",
    ],
)
def test_the_seam_check_lets_pass(code: str) -> None:
    assert list(writes(ast.parse(code))) == []


def writes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find what writes files, directly and by whatever name it was imported."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                aliases.update({alias.asname or alias.name.partition(".")[0]: alias.name for alias in names})
                yield from ((node.lineno, f"import {name.name}") for name in names if name.name in WRITING_MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                aliases.update({alias.asname or alias.name: f"{module}.{alias.name}" for alias in names})
                if module in WRITING_MODULES or (module == "os" and not OS_WRITES.isdisjoint(n.name for n in names)):
                    yield node.lineno, f"from {module} import {', '.join(alias.name for alias in names)}"
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if aliases.get(owner) == "os":
                if attribute in OS_WRITES:
                    yield node.lineno, f"os.{attribute}"
            case ast.Call(func=ast.Name(id="open")) if "open" not in aliases and not is_reading(mode_of(node, 1)):
                yield node.lineno, ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=owner_expression, attr=attribute)):
                owner = aliases.get(owner_expression.id, "") if isinstance(owner_expression, ast.Name) else ""
                if not owner.startswith(("segue", "os")) and is_path_write(node, attribute):
                    yield node.lineno, ast.unparse(node)


def is_path_write(call: ast.Call, attribute: str) -> bool:
    if attribute == "open":  # of a path: a mode; of a library or a store: an id or an address
        mode = mode_of(call, 0)
        is_mode = isinstance(mode, ast.Constant) and re.fullmatch(r"[rwaxbt+]+", str(mode.value)) is not None
        return is_mode and not is_reading(mode)
    if attribute == "replace" and call.keywords:  # of a value, by name
        return False
    return PATH_WRITES.get(attribute) == len(call.args)


def mode_of(call: ast.Call, position: int) -> ast.expr | None:
    by_name = next((keyword.value for keyword in call.keywords if keyword.arg == "mode"), None)
    return by_name or (call.args[position] if len(call.args) > position else None)


def is_reading(mode: ast.expr | None) -> bool:
    match mode:
        case None:
            return True
        case ast.Constant(value=str(text)):
            return re.search(r"[wax+]", text) is None
    return False
