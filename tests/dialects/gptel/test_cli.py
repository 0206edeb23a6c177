"""`segue gptel`: what Emacs calls, and what a person types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_completion import complete
from tests.support.gptel import LEGACY, SAID, Keeper, footer, say


def test_the_answer_has_all_that_an_editor_needs(keeper: Keeper, path: Path) -> None:
    assert list(keeper.gptel("open", path)) == [
        "session_id",
        "session_dir",
        "branch_name",
        "branch_dir",
        "state",
        "preset",
        "settings",
        "preset_settings",
        "overrides",
        "bounds",
        "scope",
        "title",
        "autosave",
        "damages",
        "warnings",
    ]


def test_a_session_is_named_by_any_path_in_it_or_by_the_beginning_of_its_id(keeper: Keeper, path: Path) -> None:
    session = path.parents[2]
    opened = keeper.gptel("open", path)
    for name in (path.parent, session, session / "current" / "session.md", "api", session.name):
        assert keeper.gptel("open", name) == opened
    assert keeper.gptel("open", f"./.gptel/sessions/{session.name}") == opened


def test_ids_complete_and_paths_are_left_to_the_shell(keeper: Keeper, path: Path) -> None:
    name = path.parents[2].name
    assert complete(keeper, "gptel", "open", "a") == [name]
    assert complete(keeper, "gptel", "migrate", name, "a") == [name]
    elsewhere = f"gptel:{keeper.home}/elsewhere"
    keeper.gptel("new", "Paging", "--store", elsewhere)
    (found,) = complete(keeper, "gptel", "branches", "--store", elsewhere, "")
    assert found.startswith("paging-")


def test_the_folder_of_all_sessions_can_be_another(keeper: Keeper) -> None:
    store = f"gptel:{keeper.home}/elsewhere"
    made = keeper.gptel("new", "Paging", "--store", store)
    assert str(made["session_dir"]).startswith(f"{keeper.home}/elsewhere/paging-")
    assert json.loads(keeper.ok("gptel", "open", "paging", "--json", SEGUE_STORE=store)) == made
    assert not keeper.sessions.exists()


def test_every_other_command_knows_these_sessions(keeper: Keeper, path: Path) -> None:
    store = f"gptel:{keeper.sessions}"
    name = path.parents[2].name
    shown = json.loads(keeper.ok("show", name, "--json", "--store", store))
    assert [turn["role"] for turn in shown["turns"]] == ["user", "assistant", "user"]
    keeper.ok("add", name, "With cursors.", "--role", "assistant", "--store", store)
    assert "With cursors." in path.read_text()
    assert keeper.ok("scope", "check", name, "--read", "notes.md", "--store", store).startswith("yes")


def test_what_holds_is_shown_to_a_person(keeper: Keeper, path: Path) -> None:
    keeper.ok("gptel", "save", str(path), "--set", "temperature=0.8", "--set", "tools=read_file, list_dir")
    shown = keeper.ok("gptel", "open", str(path))
    assert "branch name: main\n" in shown
    assert "preset: executor\n" in shown
    assert "temperature (saved): 0.8\n" in shown
    assert 'tools (saved): ["read_file", "list_dir"]\n' in shown
    assert footer(path)["gptel--tool-names"] == '("read_file" "list_dir")'
    keeper.ok("gptel", "save", str(path), "--set", "tools=none", "--set", "max-tokens=none", "--unset", "temperature")
    shown = keeper.ok("gptel", "open", str(path))
    assert "tools (saved): none\n" in shown
    assert "max tokens (saved): none\n" in shown
    assert "temperature: 0.5\n" in shown
    assert (footer(path)["gptel--tool-names"], footer(path)["gptel-max-tokens"]) == ("nil", "nil")


def test_an_editor_may_have_presets_of_its_own(keeper: Keeper) -> None:
    words = ("--preset", "mine", "--editor-preset", "other", "--editor-preset", "mine")
    made = keeper.gptel("new", "API", *words)
    assert (made["preset"], made["warnings"]) == ("mine", [])
    name = str(made["session_id"])
    assert keeper.gptel("save", name, *words)["warnings"] == []
    assert keeper.gptel("open", name, "--editor-preset", "mine")["warnings"] == []
    assert "there is no preset 'mine'" in str(keeper.gptel("open", name)["warnings"])
    assert keeper.ok("gptel", "migrate", "--editor-preset", "mine") == ""


def test_branches_are_made_listed_and_deleted(keeper: Keeper, path: Path) -> None:
    position = str(SAID.index("And then") + 1)
    made = keeper.gptel("branch", path, "other", "--position", position, "--exclude")
    listed = json.loads(keeper.ok("gptel", "branches", "api", "--json"))
    assert [(one["name"], one["parent"], one["at"], one["current"]) for one in listed] == [
        ("main", None, 0, False),
        (made["branch_name"], "main", 2, True),
    ]
    assert listed[1]["branch_dir"] == made["branch_dir"]
    lines = keeper.ok("gptel", "branches", "api").splitlines()
    assert [line.split("\t")[:3] for line in lines] == [["", "main", ""], ["*", made["branch_name"], "main at 2"]]
    second = Path(keeper.ok("gptel", "branch", str(path), "second", "--at", "1", "--stay").strip())
    assert second.is_file()
    assert json.loads(keeper.ok("gptel", "branch", "api", "second", "--delete", "--yes", "--json")) == {
        "deleted": second.parent.name
    }
    assert not second.parent.exists()


def test_a_branch_is_deleted_only_after_a_yes(keeper: Keeper, path: Path) -> None:
    keeper.ok("gptel", "branch", str(path), "other", "--stay")
    assert "use --yes" in keeper.refuses(2, "gptel", "branch", "api", "other", "--delete")
    terminal = keeper.at_terminal("gptel", "branch", "api", "other", "--delete")
    terminal.wait_for("[y/N]")
    terminal.type("n\n")
    assert terminal.end().code == 1
    assert len(json.loads(keeper.ok("gptel", "branches", "api", "--json"))) == 2


def test_all_old_sessions_are_migrated_at_once(keeper: Keeper, path: Path) -> None:
    keeper.gptel("save", path)
    for number in (1, 2):
        keeper.foreign(
            f"old-{number}",
            session__md=SAID,
            metadata__yml=f"session_id: old-{number}\nagent_type: executor\n",
            preset__md=LEGACY.format(name="executor"),
        )
    done = json.loads(keeper.ok("gptel", "migrate", "--json"))
    assert [(one["session_id"], one["state"]) for one in done] == [("old-1", "existing"), ("old-2", "existing")]
    assert keeper.ok("gptel", "migrate") == ""


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("open", "nobody"), 3, "there is no session nobody"),
        (("open", "/nowhere/branches/main/session.md"), 3, "there is no branch main in /nowhere"),
        (("open", "/nowhere/notes.md"), 3, "/nowhere/notes.md is not part of a session"),
        (("open", "../x"), 3, "../x is not part of a session"),
        (("new", "API", "--preset", "nobody"), 3, "there is no preset 'nobody'"),
        (("new", "API", "--store", "journal:x"), 2, "journal:x is not a store of gptel sessions"),
        (("save", "api", "--set", "heat=1"), 2, "there is no setting 'heat'; there are model, backend"),
        (("save", "api", "--set", "temperature=hot"), 2, "temperature must be a number or none, not 'hot'"),
        (("save", "api", "--set", "model=none"), 2, "model cannot be none; use --unset model"),
        (("save", "api", "--set", "tools=none", "--unset", "tools"), 2, "tools is set and reset"),
        (("save", "api", "--unset", "heat"), 2, "there is no setting 'heat'"),
        (("save", "api", "--set", "temperature"), 2, "write NAME=VALUE"),
        (("save", "api", "--preset", "nobody"), 3, "there is no preset 'nobody'"),
        (
            ("branch", "api", "x", "--at", "2"),
            2,
            "turn 2 is not a turn of the user, but of role assistant; the turns of the user are 1, 3",
        ),
        (("branch", "api", "x", "--at", "9"), 2, "there is no turn 9; the last turn is 3"),
        (("branch", "api", "x", "--at", "1", "--position", "1"), 2, "use one of them"),
        (("branch", "api", "x", "--position", "0"), 2, "positions start at 1"),
        (("branch", "api", "main", "--delete", "--yes"), 2, "main is the first branch"),
        (("branch", "api", "nobody", "--delete", "--yes"), 3, "there is no branch nobody; there are main"),
        (("grow",), 2, "use one of new, open, save, branch, branches, migrate"),
    ],
)
def test_mistakes_are_told_and_change_nothing(
    keeper: Keeper, path: Path, args: tuple[str, ...], code: int, words: str
) -> None:
    before = path.read_bytes()
    assert words in keeper.refuses(code, "gptel", *args)
    assert sorted(path.parents[1].iterdir()) == [path.parent]
    assert path.read_bytes() == before


def test_mistakes_are_json_where_json_is_asked_for(keeper: Keeper) -> None:
    result = keeper.run("gptel", "open", "nobody", "--json")
    assert (result.code, result.text) == (3, "")
    assert json.loads(result.complaint)["error"]["code"] == "not_found"


def test_what_strangers_wrote_reaches_no_terminal(keeper: Keeper, path: Path) -> None:
    say(path, r"gptel--preset: \e[31m\evil", r'gptel--system-message: "\e]0;x\a"')
    path.with_name("metadata.yml").write_text('session_id: "\\e[2J"\n')
    result = keeper.run("gptel", "open", str(path))
    assert result.code == 0
    assert b"\x1b" not in result.out + result.err
