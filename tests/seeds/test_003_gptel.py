"""Every scenario of the specification of gptel's session trees: in a real Emacs, and with the command that it calls.

What is done in Emacs is in emacs/test/segue-seed-test.el, one test per scenario, all in one Emacs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import segue.dialects.gptel
from segue.dialects.gptel import paths
from segue.dialects.gptel.branch_files import find_metadata, find_scope
from segue.dialects.gptel.branch_registry import BranchRegistry, RegisteredBranch
from segue.dialects.gptel.format import names
from segue.dialects.gptel.format.lisp import print_lisp
from segue.dialects.gptel.lifecycle import Sessions
from segue.formats.yaml import load_yaml
from segue.permissions.scope import read_scope
from segue.presets import SHIPPED, load_presets
from tests.emacs.test_emacs import LISP, NEEDS_EMACS
from tests.support.gptel import LEGACY, SAID, Keeper, footer, say

ABOUT = 'session_id: {id}\ncreated: "2026-01-02T03:04:05Z"\nupdated: "2026-01-02T03:04:05Z"\n'


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    return Keeper(tmp_path)


def fields(path: Path) -> dict[str, object]:
    found = load_yaml(path.read_text())
    assert isinstance(found, dict)
    return found


@NEEDS_EMACS
def test_valid_session_directory_structure(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    keeper.ok("gptel", "branch", str(path), "other")
    session = path.parents[2]
    assert session.parent == keeper.sessions
    branches = sorted((session / "branches").iterdir())
    assert len(branches) == 2
    assert all((branch / "session.md").is_file() for branch in branches)


@NEEDS_EMACS
def test_current_branch_symlink(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    current = path.parents[2] / "current"
    assert os.readlink(current) == "branches/main"
    made = keeper.gptel("branch", path, "other")
    assert os.readlink(current) == f"branches/{made['branch_name']}"
    assert str(current.resolve()) == made["branch_dir"]


@NEEDS_EMACS
def test_metadata_yml_required_fields(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    about = fields(path.with_name("metadata.yml"))
    assert about.keys() >= {"session_id", "created", "updated", "preset"}
    assert about["session_id"] == path.parents[2].name
    for name in ("created", "updated"):
        assert datetime.fromisoformat(str(about[name])).utcoffset() == timedelta(0)


@NEEDS_EMACS
def test_backward_compatibility_with_scope_plan_yml(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    plan = ABOUT.format(id="old-1") + "preset: executor\npaths: {read: ['/notes/**']}\n"
    path = keeper.foreign("old-1", session__md="", scope_plan__yml=plan)
    opened = keeper.gptel("open", path)
    assert (opened["session_id"], opened["preset"]) == ("old-1", "executor")
    warnings = opened["warnings"]
    assert isinstance(warnings, list)
    assert "scope-plan.yml is used; segue gptel migrate brings the session up to date" in warnings[0]
    keeper.gptel("save", path)
    assert fields(path.with_name("metadata.yml"))["preset"] == "executor"
    assert path.with_name("scope-plan.yml").read_text() == plan


@NEEDS_EMACS
def test_backward_compatibility_with_agent_type(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.foreign("old-1", session__md="", metadata__yml=ABOUT.format(id="old-1") + "agent_type: executor\n")
    opened = keeper.gptel("open", path)
    assert opened["preset"] == "executor"
    assert "agent_type" in str(opened["warnings"])


@NEEDS_EMACS
def test_standalone_session_creation(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    made = keeper.gptel("new", "API Integration")
    path = Path(str(made["branch_dir"]))
    assert re.fullmatch(r"api-integration-\d{14}", str(made["session_id"]))
    assert path == keeper.sessions / str(made["session_id"]) / "branches" / "main"
    about = fields(path / "metadata.yml")
    assert (about["session_id"], about["preset"]) == (made["session_id"], "executor")
    assert "${project_root}/**" in read_scope((path / "scope.yml").read_text()).write
    assert (path / "session.md").read_bytes() == b""
    assert os.readlink(path.parents[1] / "current") == "branches/main"
    settings = made["settings"]
    assert isinstance(settings, dict)
    assert (made["state"], made["preset"], settings["temperature"]) == ("new", "executor", 0.5)
    # What is printed can be handed to an editor.
    assert keeper.ok("gptel", "new", "API Integration").strip().endswith("/branches/main/session.md")


@NEEDS_EMACS
def test_activities_integrated_session_creation(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    activity = keeper.home / "emacs-activities" / "planning-2026-11-15"
    made = keeper.gptel("new", "Planning", "--activity", activity)
    assert made["session_dir"] == str(activity / "session")
    assert made["branch_dir"] == str(activity / "session" / "branches" / "main")
    assert re.fullmatch(r"planning-\d{14}", str(made["session_id"]))
    assert fields(activity / "session" / "branches" / "main" / "metadata.yml")["session_id"] == made["session_id"]
    sessions = Sessions(str(keeper.sessions), load_presets([SHIPPED]))
    opened = sessions.open(paths.BranchPath(str(activity / "session"), ""))
    assert sessions.registry.find(opened.session_id, "main") is not None
    branch = keeper.gptel("branch", activity, "other")
    assert branch["session_id"] == made["session_id"]
    assert branch["warnings"] == []
    # What `activities-ext-create` calls; tests/emacs/test_ui.py runs it in a real Emacs.
    named = keeper.gptel("new", "Big Plan", "--activities", activity.parent)
    assert re.fullmatch(
        rf"{re.escape(str(activity.parent))}/big-plan-\d{{4}}-\d\d-\d\d/session", str(named["session_dir"])
    )


@NEEDS_EMACS
def test_reopening_existing_session_has_local_variables(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    say(path, "gptel--preset: executor", "gptel-temperature: 0.8")
    before = path.read_bytes()
    opened = keeper.gptel("open", path)
    assert opened["state"] == "existing"
    assert opened["session_id"] == path.parents[2].name
    assert opened["session_dir"] == str(path.parents[2])
    assert (opened["branch_name"], opened["branch_dir"]) == ("main", str(path.parent))
    settings, scope = opened["settings"], opened["scope"]
    assert isinstance(settings, dict)
    assert (opened["preset"], opened["overrides"]) == ("executor", {"temperature": 0.8})
    assert (settings["temperature"], settings["tools"][0]) == (0.8, "read_file")
    assert isinstance(scope, dict)
    assert scope["paths"]["write"] == ["${project_root}/**"]
    assert opened["autosave"] is True
    assert path.read_bytes() == before


@NEEDS_EMACS
def test_opening_newly_created_session_no_local_variables(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    opened = keeper.gptel("open", path)
    assert (opened["state"], opened["preset"], opened["overrides"]) == ("new", "executor", {})
    assert opened["scope"]
    keeper.gptel("save", path)
    assert footer(path) == {"gptel--preset": "executor", "gptel--bounds": "nil"}
    assert keeper.gptel("open", path)["state"] == "existing"


@NEEDS_EMACS
def test_opening_legacy_session_with_preset_md(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    legacy = LEGACY.format(name="executor")
    about = ABOUT.format(id="old-1") + "preset: executor\n"
    path = keeper.foreign("old-1", session__md=SAID, metadata__yml=about, preset__md=legacy)
    opened = keeper.gptel("open", path)
    assert (opened["state"], opened["preset"], opened["overrides"]) == ("legacy", "executor", {})
    assert "the next save completes the migration" in str(opened["warnings"])
    scope = read_scope(path.with_name("scope.yml").read_text())
    assert (scope.read, scope.shell_allow) == (("/notes/**",), ("ls",))
    assert path.read_text() == SAID
    saved = keeper.gptel("save", path)
    assert (saved["state"], saved["warnings"]) == ("existing", [])
    assert footer(path).keys() == {"gptel--preset", "gptel--bounds"}
    assert "Use cursors." in path.read_text()
    assert path.with_name("preset.md").read_text() == legacy


@NEEDS_EMACS
def test_legacy_session_with_unknown_preset(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    about = ABOUT.format(id="old-1") + "preset: pirate\n"
    path = keeper.foreign("old-1", session__md=SAID, metadata__yml=about, preset__md=LEGACY.format(name="pirate"))
    opened = keeper.gptel("open", path)
    assert (opened["state"], opened["preset"]) == ("legacy", None)
    assert "a preset 'pirate' that is not known here: its settings are used (model 'gpt-4o'" in str(opened["warnings"])
    assert opened["settings"] == {
        "model": "gpt-4o",
        "backend": "ChatGPT",
        "tools": ["read_file"],
        "temperature": 0.3,
        "max_tokens": None,
        "num_messages": None,
        "system_message": "Speak plainly.",
    }
    keeper.gptel("save", path)
    assert "gptel--preset" not in footer(path)
    assert footer(path)["gptel--system-message"] == '"Speak plainly."'
    assert footer(path)["gptel-temperature"] == "0.3"


@NEEDS_EMACS
def test_fast_guard_for_non_session_files(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    # Neither a look at the disk nor an import: the text of the path is all there is to see.
    code = """
import sys
from segue.dialects.gptel.paths import is_session_path
seen = []
sys.addaudithook(lambda event, _: seen.append(event))
found = [is_session_path(path) for path in ("/a/notes.md", "/a/session.md", "/a/branches/main/session.org", "")]
print(found, seen)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=keeper.environment()
    )
    assert done.stdout == "[False, False, False, False] []\n"
    (keeper.home / "notes.md").write_text("Notes")
    assert "notes.md is not part of a session" in keeper.refuses(3, "gptel", "open", "./notes.md")


@NEEDS_EMACS
def test_manual_save_via_c_x_c_s(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    # What an editor saves that writes every setting, whether it differs or not.
    say(path, "gptel--preset: executor", "gptel-temperature: 0.5", "gptel-model: gpt-4o")
    keeper.gptel("save", path)
    assert path.read_text().startswith(SAID)
    assert footer(path) == {
        "gptel--preset": "executor",
        "gptel-model": "gpt-4o",
        "gptel--bounds": "((response (25 37)))",
    }


@NEEDS_EMACS
def test_save_after_temperature_change(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    keeper.gptel("save", path, "--set", "temperature=0.8")
    assert footer(path) == {"gptel--preset": "executor", "gptel-temperature": "0.8", "gptel--bounds": "nil"}
    keeper.gptel("save", path, "--set", "temperature=0.5")
    assert footer(path) == {"gptel--preset": "executor", "gptel--bounds": "nil"}


@NEEDS_EMACS
def test_save_after_system_message_modification(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    say(path, "gptel--preset: executor", r'gptel--system-message: "Speak like a \"pirate\".\nArr."')
    saved = keeper.gptel("save", path)
    assert footer(path)["gptel--system-message"] == r'"Speak like a \"pirate\".\nArr."'
    opened = keeper.gptel("open", path)
    assert opened == saved
    settings = opened["settings"]
    assert isinstance(settings, dict)
    assert settings["system_message"] == 'Speak like a "pirate".\nArr.'


@NEEDS_EMACS
def test_save_with_no_changes_from_preset(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    say(path, "gptel--preset: executor")
    keeper.gptel("save", path)
    assert footer(path) == {"gptel--preset": "executor", "gptel--bounds": "((response (25 37)))"}


@NEEDS_EMACS
def test_registry_lookup_performance(tmp_path: Path, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    registry = BranchRegistry()
    for number in range(1000):
        folder = f"{tmp_path}/s{number}"
        registry.enter(
            RegisteredBranch(
                session_id=f"s{number}",
                session_dir=folder,
                branch_name="main",
                branch_dir=f"{folder}/branches/main",
                buffer=number,
            )
        )
    found = registry.find("s999", "main")
    assert found is not None
    assert found.key == "s999/main"
    assert (found.session_dir, found.buffer) == (f"{tmp_path}/s999", 999)
    assert found.branch_dir == f"{tmp_path}/s999/branches/main"
    assert registry.find("s999", "other") is None
    # One look into a table by its key, however many there are.
    assert isinstance(vars(registry)["_entries"], dict)


@NEEDS_EMACS
def test_filesystem_as_source_of_truth(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    sessions = Sessions(str(keeper.sessions), load_presets([SHIPPED]))
    made = sessions.create("API Integration")
    there = paths.BranchPath(made.session_dir, "main")
    scope = Path(paths.scope_file(made.branch_dir))
    scope.write_text("paths: {read: [/elsewhere]}\n")
    opened = sessions.open(there)
    assert opened.scope is not None
    assert opened.scope["paths"] == {"read": ["/elsewhere"], "write": [], "deny": []}
    entry = sessions.registry.find(made.session_id, "main")
    assert entry is not None
    assert entry.__struct_fields__ == ("session_id", "session_dir", "branch_name", "branch_dir", "buffer")


@NEEDS_EMACS
def test_reading_session_metadata(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.foreign(
        "old-1", session__md="", metadata__yml=ABOUT.format(id="old-1") + "preset: executor\nparent_session_id: p-1\n"
    )
    found = find_metadata(str(path.parent))
    assert found is not None
    assert (found["session-id"], found["parent-session-id"]) == ("old-1", "p-1")
    assert print_lisp(found).startswith('(:session-id "old-1" :created ')
    path.with_name("metadata.yml").write_text("a: [")
    assert find_metadata(str(path.parent)) is None
    assert find_metadata(str(path.parent / "nowhere")) is None


@NEEDS_EMACS
def test_reading_scope_configuration(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.new()
    found = find_scope(str(path.parent))
    assert found is not None
    assert found.keys() == {"paths", "org-roam-patterns", "shell-commands"}
    path.with_name("scope.yml").write_text("paths: [")
    assert find_scope(str(path.parent)) is None


@NEEDS_EMACS
def test_fallback_to_scope_plan_yml(keeper: Keeper, why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    path = keeper.foreign("old-1", session__md="", scope_plan__yml=ABOUT.format(id="old-1") + "preset: executor\n")
    warnings: list[str] = []
    found = find_metadata(str(path.parent), warn=warnings.append)
    assert found is not None
    assert found["preset"] == "executor"
    assert len(warnings) == 1
    assert "scope-plan.yml" in warnings[0]


@NEEDS_EMACS
def test_computing_scope_file_path(why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    assert paths.branches_dir("/s") == "/s/branches"
    assert paths.branch_dir("/s", "main") == "/s/branches/main"
    assert paths.context_file("/s/branches/main") == "/s/branches/main/session.md"
    assert paths.scope_file("/s/branches/main") == "/s/branches/main/scope.yml"


@NEEDS_EMACS
def test_computing_metadata_file_path(why_emacs_failed: str | None) -> None:
    assert why_emacs_failed is None
    assert paths.metadata_file("/s/branches/main") == "/s/branches/main/metadata.yml"
    assert paths.branch_metadata_file("/s/branches/main") == "/s/branches/main/branch-metadata.yml"


def test_file_name_constants() -> None:
    literals = [names.SESSION, names.SCOPE, names.METADATA, names.BRANCH_METADATA, names.LEGACY_METADATA]
    room = Path(segue.dialects.gptel.__file__).parent
    constants = room / "format" / "names.py"
    files = [file for file in room.rglob("*.py") if file != constants]
    assert {file.parent.name for file in files} >= {"gptel", "store", "format"}
    for file in [*files, *(LISP.glob("*.el"))]:
        code = re.sub(r"^\(defconst jf/gptel--[a-z-]+-name .*", "", file.read_text(), flags=re.MULTILINE)
        assert [name for name in literals if f'"{name}"' in code or f'/{name}"' in code] == [], file
