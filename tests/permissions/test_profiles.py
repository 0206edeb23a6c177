"""Named scopes, and which scope holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import InvalidIdError, NotFoundError, UsageError
from segue.permissions import DENY_ALL, Guard, ResolvedScope, load_profile, preset_scope, resolve_scope
from segue.permissions.scope import Scope

if TYPE_CHECKING:
    from pathlib import Path

GIVEN = ResolvedScope(Scope(read=("/given",)), "explicit")
OWN = {"paths": {"read": ["/own"]}, "color": "red"}


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    (tmp_path / "work.yml").write_text("paths:\n  read: ['${project_root}/**']\n")
    (tmp_path / "bad.yml").write_text("paths:\n  read: [\n")
    (tmp_path / "latin.yml").write_bytes(b"# one\n# caf\xe9\n")
    return tmp_path


def test_explicit_wins_over_profile_over_the_presets_own_over_nothing(profiles: Path) -> None:
    own = preset_scope(OWN, "executor.md")
    assert own == ResolvedScope(Scope(read=("/own",)), "preset", "executor.md")
    assert resolve_scope(explicit=GIVEN, profile="work", folders=[profiles], own=own) == GIVEN
    assert resolve_scope(profile="work", folders=[profiles], own=own).source == "profile"
    assert resolve_scope(own=own) == own
    assert resolve_scope() == DENY_ALL


def test_an_empty_scope_that_was_given_is_not_replaced_by_a_wider_one(profiles: Path) -> None:
    empty = ResolvedScope(Scope(), "explicit")
    assert resolve_scope(explicit=empty, profile="work", folders=[profiles]) == empty


def test_a_preset_may_keep_its_scope_under_one_key_or_have_none() -> None:
    assert preset_scope({"scope": OWN["paths"] and {"paths": OWN["paths"]}}, "x") == ResolvedScope(
        Scope(read=("/own",)), "preset", "x"
    )
    assert preset_scope({"color": "red"}, "x") is None
    with pytest.raises(UsageError, match=r"x: paths\.read must be a list"):
        preset_scope({"paths": {"read": "a"}}, "x")


def test_the_first_folder_that_has_a_profile_wins_and_those_of_segue_come_last(profiles: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "project.yml").write_text("paths: {read: [/mine]}")
    assert load_profile("project", [profiles, other]).scope.read == ("/mine",)
    assert load_profile("project", [profiles]).scope.read == ("${project_root}/**",)


def test_the_shipped_profile_keeps_to_the_project_and_off_its_secrets(tmp_path: Path) -> None:
    guard = Guard(load_profile("project", []).scope, project_root=str(tmp_path), home="/nowhere")
    assert guard.write("src/new.py").allowed
    assert guard.shell("git status && ls").allowed
    for path in (".env", "deep/.env.local", ".git/config", "../x", "/etc/passwd"):
        assert not guard.read(path).allowed
    for line in ("git push", "cat /etc/passwd", "sudo ls", "ls /"):
        assert not guard.shell(line).allowed


def test_a_profile_that_is_not_there_or_broken_is_no_reason_to_use_another(profiles: Path) -> None:
    with pytest.raises(NotFoundError, match="no scope profile 'wrok'") as missing:
        resolve_scope(profile="wrok", folders=[profiles], own=preset_scope(OWN, "x"))
    assert missing.value.hint == "available profiles: bad, latin, project, work"
    with pytest.raises(UsageError, match=r"bad\.yml line 3: it is not YAML"):
        load_profile("bad", [profiles])
    with pytest.raises(UsageError, match=r"latin\.yml line 2: it is not UTF-8"):
        load_profile("latin", [profiles])
    with pytest.raises(InvalidIdError):
        load_profile("../work", [profiles])
