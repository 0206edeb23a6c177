"""What decides what an agent may do next is closed to it, whatever its scope says and however the path is spelt."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.permissions import Guard, ProtectedPaths
from segue.permissions.scope import Scope

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = Scope(read=("/**",), write=("/**",), shell_allow=("*",))
DECIDING = (
    ".git",
    ".git/config",
    ".git/hooks/post-commit",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents/helper.md",
    ".claude/commands/x.md",
    ".mcp.json",
    ".segue/agents/helper.md",
    ".workspace/types/x.md",
    ".envrc",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".opencode/agent/x.md",
    ".kilo/kilo.jsonc",
    ".kilocode/agent/x.md",
    ".pi/settings.json",
    ".copilot/mcp-config.json",
    ".agents/skills/x/SKILL.md",
    ".aider.conf.yml",
    ".vscode/tasks.json",
    "notes/2026/.session/session.json",
    "notes/2026/.session/messages.jsonl",
    "tree/branches/main/scope.yml",
)
HARMLESS = (".gitignore", ".github/workflows/ci.yml", "git/config", ".claude.md", "scope.yml", "envrc", ".sessions/x")


def guard(root: Path, protected: ProtectedPaths | None = None) -> Guard:
    return Guard(EVERYTHING, project_root=str(root), home=str(root / "home"), protected=protected)


@pytest.mark.parametrize("name", DECIDING)
def test_no_scope_allows_writing_it(tmp_path: Path, name: str) -> None:
    for path in (name, f"sub/{name}", f"{tmp_path}/{name.upper()}", f"sub/../{name}"):
        verdict = guard(tmp_path).write(path)
        assert (verdict.allowed, verdict.is_final) == (False, True), path
        assert "no scope allows writing it" in verdict.reason
    assert guard(tmp_path).read(name).allowed
    assert guard(tmp_path).shell(f"echo x > '{name}'").is_final


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_looks_like_it_is_allowed(tmp_path: Path, name: str) -> None:
    assert guard(tmp_path).write(name).allowed


@given(
    name=st.sampled_from([path for path in DECIDING if path.startswith(".")]),
    before=st.lists(st.sampled_from(["a", "..b", "sub", ".", "x/..", "Été"]), max_size=4),
    after=st.lists(st.sampled_from(["new", "deep/er", "."]), max_size=2),
    case=st.integers(min_value=0, max_value=2**32 - 1),
    invisible=st.sampled_from(["", "\u200c", "\ufeff", "\u2060"]),
    form=st.sampled_from(["NFC", "NFD", "NFKC"]),
)
def test_no_spelling_of_a_protected_name_is_allowed(
    *, name: str, before: list[str], after: list[str], case: int, invisible: str, form: str
) -> None:
    """In any case, anywhere in a path, with characters that some file systems pass over."""
    first, *rest = name.split("/")
    spelt = "".join(mark.upper() if case >> at & 1 else mark for at, mark in enumerate(first))
    spelt = unicodedata.normalize(form, spelt[:2] + invisible + spelt[2:])  # type: ignore[arg-type]  # one of the three
    path = "/".join(["", "project", *before, spelt, *rest, *after])
    found = Guard(EVERYTHING, project_root="/project", home="/home")
    assert found.write(path).is_final


def test_a_link_and_a_second_name_lead_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("x")
    (tmp_path / "link").symlink_to(".git")
    assert guard(tmp_path).write("link/config").is_final
    state = tmp_path / "state"
    state.mkdir()
    (state / "key").write_text("secret")
    os.link(state / "key", tmp_path / "innocent")
    found = guard(tmp_path, ProtectedPaths(secret=(str(state),)))
    assert found.read("innocent").is_final
    assert f"it is a hard link to {state}/key" in found.read("innocent").reason


def test_folders_of_segue_are_neither_read_nor_written_and_stores_not_written(tmp_path: Path) -> None:
    state, store = tmp_path / "state", tmp_path / "sessions"
    for folder in (state, store):
        folder.mkdir()
        (folder / "file").write_text("x")
    (tmp_path / "alias").symlink_to(state)
    found = guard(
        tmp_path, ProtectedPaths(secret=(str(state),)).with_store(f"journal:{store}", "s", root=str(tmp_path))
    )
    for path in (state, state / "file", state / "new", tmp_path / "alias" / "file"):
        assert found.read(str(path)).is_final
        assert found.write(str(path)).is_final
    assert found.read(str(store / "file")).allowed
    assert found.write(str(store / "new")).is_final
    assert found.write(str(tmp_path / "sessions2")).allowed
    assert not found.search(str(tmp_path)).allowed


def test_a_store_around_the_project_protects_its_session_and_leaves_the_project_open(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    found = guard(tmp_path, ProtectedPaths().with_store(f"journal:{tmp_path}", "s", root=str(project)))
    assert found.write(str(tmp_path / "s.jsonl")).is_final
    assert found.write(str(project / "x")).allowed


@pytest.mark.parametrize(
    "name", ["AGENTS.md", "CLAUDE.md", "sub/agents.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md"]
)
def test_what_agents_read_as_orders_is_asked_about_unless_a_pattern_names_it(tmp_path: Path, name: str) -> None:
    verdict = guard(tmp_path).write(name)
    assert (verdict.allowed, verdict.is_final) == (False, False)
    named = Scope(write=(name, "**"))
    assert Guard(named, project_root=str(tmp_path), home="/h").write(name).allowed
    assert guard(tmp_path).read(name).allowed
