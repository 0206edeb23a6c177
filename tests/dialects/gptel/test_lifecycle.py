from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.gptel.format.fields import find_fields
from segue.dialects.gptel.lifecycle import Sessions
from segue.dialects.gptel.paths import BranchPath
from segue.dialects.gptel.store import GptelStore
from segue.errors import ConflictError, NotFoundError, UsageError
from segue.permissions import Permissions
from segue.presets import SHIPPED, load_presets
from segue.testing.failing import ReadOnlyKernel
from tests.support.gptel import LEGACY, SAID, Keeper, footer, say

if TYPE_CHECKING:
    from segue.dialects.gptel.branch_details import BranchDetails
    from segue.model import JsonObject

NOW = datetime(2026, 11, 15, 13, 0, tzinfo=UTC)
PIRATE = (
    "---\nmodel: gpt-4o\nbackend: ChatGPT\ntemperature: 0.2\nmax_tokens: 500\nnum_messages: 6\ntools: [a, b]\n---\nArr."
)


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "pirate.md").write_text(PIRATE)
    presets = load_presets([tmp_path / "agents", SHIPPED])
    return Sessions(str(tmp_path / "sessions"), presets, clock=lambda: NOW)


def at(opened: BranchDetails) -> BranchPath:
    return BranchPath(opened.session_dir, opened.branch_name)


def text(opened: BranchDetails) -> Path:
    return Path(opened.branch_dir) / "session.md"


def said(opened: BranchDetails) -> list[str]:
    folder = Path(opened.session_dir)
    session = GptelStore(str(folder.parent)).load(folder.name)
    return [turn.content for turn in session.path(opened.branch_name)]


@pytest.fixture
def spoken(sessions: Sessions) -> BranchDetails:
    """A session in which Emacs has saved a question, its answer and another question."""
    made = sessions.create("API Integration")
    say(text(made), "gptel--preset: executor", "gptel-temperature: 0.8")
    return made


def test_two_sessions_of_one_name_in_one_second_are_two(sessions: Sessions) -> None:
    made = [sessions.create("API").session_id for _ in range(3)]
    assert made == ["api-20261115130000", "api-20261115130001", "api-20261115130002"]


def test_an_activity_has_one_session(sessions: Sessions, tmp_path: Path) -> None:
    made = sessions.create("Plan", activity=str(tmp_path / "activity"))
    with pytest.raises(ConflictError, match="there is already a session in"):
        sessions.create("Plan", activity=str(tmp_path / "activity"))
    say(text(made), "gptel--preset: executor")
    saved = sessions.save(at(made))
    assert (saved.session_id, saved.warnings) == ("plan-20261115130000", ())


def test_a_preset_that_is_not_there_makes_nothing(sessions: Sessions) -> None:
    with pytest.raises(NotFoundError, match="'nobody'"):
        sessions.create("API", preset="nobody")
    assert not Path(sessions.root).exists()


def test_a_session_without_a_scope_profile_may_do_nothing(sessions: Sessions) -> None:
    made = sessions.create("API", preset="pirate")
    assert made.scope is not None
    assert made.scope["paths"] == {"read": [], "write": [], "deny": []}


@pytest.mark.parametrize(
    ("name", "own", "other"),
    [
        ("model", "gpt-4o", "gpt-5"),
        ("backend", "ChatGPT", "Ollama"),
        ("tools", ["a", "b"], ["a"]),
        ("temperature", 0.2, 0.1),
        ("max_tokens", 500, 100),
        ("num_messages", 6, 2),
        ("system_message", "Arr.", "Ahoy."),
    ],
)
def test_only_what_differs_is_saved_and_what_matches_again_is_gone(
    sessions: Sessions, name: str, own: object, other: object
) -> None:
    made = sessions.create("API", preset="pirate")
    saved = sessions.save(at(made), {name: other})
    assert (saved.overrides, saved.settings[name]) == ({name: other}, other)
    assert len(footer(text(made))) == 3
    saved = sessions.save(at(made), {name: own})
    assert (saved.overrides, saved.settings[name]) == ({}, own)
    assert footer(text(made)).keys() == {"gptel--preset", "gptel--bounds"}


NONE: JsonObject = {
    "tools": [],
    "temperature": None,
    "max_tokens": None,
    "num_messages": None,
    "system_message": None,
}
OFF = {
    "gptel--tool-names",
    "gptel-temperature",
    "gptel-max-tokens",
    "gptel--num-messages-to-send",
    "gptel--system-message",
}


def turned_off(path: Path) -> set[str]:
    """The variables that are nil in the file, except the bounds."""
    return {name for name, value in footer(path).items() if value == "nil"} - {"gptel--bounds"}


def test_what_is_turned_off_stays_off_and_wins_over_the_preset(sessions: Sessions) -> None:
    made = sessions.create("API", preset="pirate")
    saved = sessions.save(at(made), NONE)
    assert saved.overrides == NONE
    assert {name: saved.settings[name] for name in NONE} == NONE
    assert (saved.settings["model"], turned_off(text(made))) == ("gpt-4o", OFF)
    with segue.open(f"gptel:{sessions.root}") as library, library.resume(made.session_id) as live:
        live.add("user", "Hello?")
    branch = sessions.branch(at(made), "other")
    for one in (sessions.open(at(made)), sessions.save(at(made)), branch):
        assert (one.overrides, turned_off(text(one))) == (NONE, OFF)
    reset = sessions.save(at(branch), {"temperature": 0.2}, unset=[*NONE.keys() - {"temperature"}])
    assert (reset.overrides, turned_off(text(branch))) == ({}, set())


def test_what_emacs_turned_off_is_no_longer_what_the_preset_has(sessions: Sessions, spoken: BranchDetails) -> None:
    off = [f"{name}: nil" for name in sorted(OFF)]
    say(text(spoken), "gptel--preset: executor", "gptel-model: nil", *off)
    assert sessions.open(at(spoken)).overrides == NONE
    assert GptelStore(sessions.root).load(spoken.session_id).overrides == NONE
    assert sessions.save(at(spoken)).overrides == NONE
    assert turned_off(text(spoken)) == OFF
    # A branch that is not the current one keeps what Emacs turned off there, while others write to the session.
    other = sessions.branch(at(spoken), "other")
    sessions.save(at(other), unset=list(NONE))
    text(spoken).write_text(
        text(spoken)
        .read_text()
        .replace("<!-- Local Variables: -->", "<!-- Local Variables: -->\n<!-- gptel--tool-names: nil -->")
    )
    with segue.open(f"gptel:{sessions.root}") as library, library.resume(spoken.session_id) as live:
        live.add("user", "Hello?")
    sessions.save(at(other))
    assert turned_off(text(spoken)) == {"gptel--tool-names"}
    assert sessions.open(at(spoken)).settings["tools"] == []
    assert sessions.open(at(other)).settings["tools"] != []
    # Without the line, it is as in the preset again.
    text(spoken).write_text(text(spoken).read_text().replace("<!-- gptel--tool-names: nil -->\n", ""))
    assert sessions.save(at(spoken)).overrides == {}


def test_another_preset_keeps_what_still_differs(sessions: Sessions, spoken: BranchDetails) -> None:
    saved = sessions.save(at(spoken), {"model": "gpt-4o"}, preset="pirate")
    assert (saved.preset, saved.overrides) == ("pirate", {"temperature": 0.8})


def test_a_preset_that_is_not_here_is_kept_with_all_that_was_saved(sessions: Sessions, spoken: BranchDetails) -> None:
    say(text(spoken), "gptel--preset: stranger", "gptel-temperature: 0.5")
    saved = sessions.save(at(spoken))
    assert (saved.preset, saved.overrides) == ("stranger", {"temperature": 0.5})
    assert "there is no preset 'stranger', so only" in saved.warnings[0]
    assert footer(text(spoken))["gptel--preset"] == "stranger"


def test_a_save_that_changes_nothing_leaves_the_file_as_it_is(sessions: Sessions, spoken: BranchDetails) -> None:
    sessions.save(at(spoken))
    before = text(spoken).stat()
    sessions.save(at(spoken))
    assert (text(spoken).stat().st_ino, text(spoken).stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_there_is_no_setting_of_another_name(sessions: Sessions, spoken: BranchDetails) -> None:
    before = text(spoken).read_bytes()
    with pytest.raises(UsageError, match="there is no setting 'heat'"):
        sessions.save(at(spoken), {"heat": 1})
    assert text(spoken).read_bytes() == before


@pytest.mark.parametrize(("exclude", "left"), [(False, 3), (True, 2)])
def test_a_branch_goes_on_from_a_question_with_it_or_without(
    sessions: Sessions,
    spoken: BranchDetails,
    exclude: bool,  # noqa: FBT001 - pytest's way
    left: int,
) -> None:
    made = sessions.branch(at(spoken), "Other way", at=3, exclude=exclude)
    assert made.branch_name == "20261115130000-other-way"
    assert said(made) == ["How do I paginate?", "Use cursors.", "And then?"][:left]
    assert (made.preset, made.overrides) == ("executor", {"temperature": 0.8})
    assert footer(text(made))["gptel--bounds"] == "((response (25 37)))"
    assert os.readlink(Path(made.session_dir) / "current") == f"branches/{made.branch_name}"
    assert said(spoken) == ["How do I paginate?", "Use cursors.", "And then?"]


def test_bounds_behind_the_cut_are_left_out(sessions: Sessions, spoken: BranchDetails) -> None:
    made = sessions.branch(at(spoken), "short", at=1)
    assert said(made) == ["How do I paginate?"]
    assert footer(text(made))["gptel--bounds"] == "nil"


@pytest.mark.parametrize(
    ("before", "shared"),
    [
        ("", 1),
        ("### How", 1),
        ("### How do I paginate?", 1),
        ("Use cur", 1),
        ("Use cursors.", 1),
        ("Use cursors.\n\n", 3),
        ("### And th", 3),
        ("### And then?", 3),
        ("### And then?\n", 3),
    ],
)
def test_a_place_in_the_text_means_the_question_it_belongs_to(
    sessions: Sessions, spoken: BranchDetails, before: str, shared: int
) -> None:
    position = SAID.index(before) + len(before) + 1
    assert len(said(sessions.branch(at(spoken), "other", position=position))) == shared


@pytest.mark.parametrize("word", ["List the", "I think", "a.txt", "two files", "Thanks", "No trouble"])
def test_what_gptel_shows_and_nobody_said_moves_no_place(sessions: Sessions, spoken: BranchDetails, word: str) -> None:
    told = (
        '### List the files\n\n``` reasoning\nI think so.\n```\nI will look.\n``` tool (list_dir :path ".")\n'
        '(:name "list_dir" :args (:path "."))\n\na.txt\n```\nThere are two files.\n\n'
        "### Thanks\n\nNo trouble.\n\n### \n"
    )
    spans = [
        span(told, kind, words)
        for kind, words in (
            ("ignore", "``` reasoning\nI think so.\n```\n"),
            ("response", "I will look.\n"),
            ("ignore", '``` tool (list_dir :path ".")\n'),
            ("tool", '(:name "list_dir" :args (:path "."))\n\na.txt\n'),
            ("response", "```\nThere are two files."),
            ("response", "No trouble."),
        )
    ]
    text(spoken).write_text(
        f"{told}\n<!-- Local Variables: -->\n<!-- gptel--bounds: ({' '.join(spans)}) -->\n<!-- End: -->\n"
    )
    made = sessions.branch(at(spoken), "other", position=told.index(word) + 1)
    assert said(made)[-1] == ("Thanks" if word in {"Thanks", "No trouble"} else "List the files")


def span(told: str, kind: str, words: str) -> str:
    start = told.index(words) + 1
    name = ' "call_1"' if kind == "tool" else ""
    return f"({kind} ({start} {start + len(words)}{name}))"


def test_a_place_behind_the_last_answer_shares_everything(sessions: Sessions, spoken: BranchDetails) -> None:
    with segue.open(f"gptel:{sessions.root}").open(spoken.session_id) as live:
        live.add("assistant", "With the next cursor.")
    position = text(spoken).read_text().index("\n\f") + 1
    assert len(said(sessions.branch(at(spoken), "other", position=position))) == 4


def test_places_are_counted_in_characters_whatever_editor_wrote_the_file(
    sessions: Sessions, spoken: BranchDetails
) -> None:
    path = text(spoken)
    path.write_text("### Größe 😀 漢字?\n\nJa.\n\nA second line without a prompt.\n")
    position = path.read_text().index("without") + 1
    assert said(sessions.branch(at(spoken), "other", position=position)) == said(spoken)


@pytest.mark.parametrize(("turn", "words"), [(2, "turn 2 is not a turn of"), (4, "no turn 4"), (0, "no turn 0")])
def test_a_branch_begins_at_a_turn_of_the_user(
    sessions: Sessions, spoken: BranchDetails, turn: int, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        sessions.branch(at(spoken), "other", at=turn)
    assert [branch.name for branch in sessions.branches(at(spoken))] == ["main"]


def test_branches_know_what_they_grew_from(sessions: Sessions, spoken: BranchDetails) -> None:
    first = sessions.branch(at(spoken), "first", at=3)
    sessions.branch(at(first), "second", at=1)
    sessions.branch(at(spoken), "third", switch=False)
    found = sessions.branches(BranchPath(spoken.session_dir, ""))
    assert [(one.name[15:] or one.name, (one.parent or "")[15:], one.at, one.current) for one in found] == [
        ("main", "", 0, False),
        ("first", "", 3, False),
        ("second", "first", 1, True),
        ("third", "", 3, False),
    ]


def test_a_scope_that_a_person_keeps_goes_along_to_the_letter(sessions: Sessions, spoken: BranchDetails) -> None:
    scope = Path(spoken.branch_dir) / "scope.yml"
    scope.write_text("# mine\npaths: {read: [/notes]}\n")
    made = sessions.branch(at(spoken), "other")
    assert (Path(made.branch_dir) / "scope.yml").read_text() == scope.read_text()


def test_a_deleted_branch_is_gone_and_its_turns_are_still_on_record(sessions: Sessions, spoken: BranchDetails) -> None:
    made = sessions.branch(at(spoken), "other", at=1, switch=False)
    text(made).write_text(text(made).read_text().replace("paginate?", "paginate?\n\n### Only here", 1))
    assert sessions.delete_branch(at(made)) == made.branch_name
    assert not Path(made.branch_dir).exists()
    assert sessions.registry.find(made.session_id, made.branch_name) is None
    folder = Path(spoken.session_dir)
    session = GptelStore(str(folder.parent)).load(folder.name)
    assert list(session.branches) == ["main"]
    assert "Only here" in str(session.unknown[-1].data["removed"])
    assert said(spoken) == ["How do I paginate?", "Use cursors.", "And then?"]
    again = sessions.branch(at(spoken), "other", at=1)
    assert again.branch_name == made.branch_name
    assert said(again) == ["How do I paginate?"]


def test_the_first_the_current_and_a_parent_are_never_deleted(sessions: Sessions, spoken: BranchDetails) -> None:
    first = sessions.branch(at(spoken), "first")
    second = sessions.branch(at(first), "second")
    for place, words in (
        (at(spoken), "is the first branch"),
        (at(second), "is the current branch"),
        (at(first), "second branched from"),
    ):
        with pytest.raises(UsageError, match=words):
            sessions.delete_branch(place)
    assert len(sessions.branches(at(spoken))) == 3


def test_a_renamed_branch_has_all_its_files_and_its_branches(sessions: Sessions, spoken: BranchDetails) -> None:
    made = sessions.branch(at(spoken), "other", at=1)
    text(made).write_text(text(made).read_text().replace("paginate?", "paginate?\n\n### Only here", 1))
    (Path(made.branch_dir) / "scope.yml").write_text("# mine\npaths: {read: [/notes]}\n")
    child = sessions.branch(at(made), "child", switch=False)
    renamed = sessions.rename_branch(at(made), "Better way")
    assert renamed.branch_name == made.branch_name.replace("other", "better-way")
    assert not Path(made.branch_dir).exists()
    assert sessions.registry.find(made.session_id, made.branch_name) is None
    assert (Path(renamed.branch_dir) / "scope.yml").read_text().startswith("# mine\n")
    assert os.readlink(Path(spoken.session_dir) / "current") == f"branches/{renamed.branch_name}"
    assert said(renamed) == said(child) == ["How do I paginate?", "Only here"]
    parents = {one.name: one.parent for one in sessions.branches(at(spoken))}
    assert parents == {"main": None, renamed.branch_name: "main", child.branch_name: renamed.branch_name}
    assert sessions.rename_branch(at(renamed), "better way") == sessions.open(at(renamed))
    assert sessions.rename_branch(at(child), "other").branch_name == made.branch_name
    with pytest.raises(UsageError, match="main is the first branch"):
        sessions.rename_branch(at(spoken), "other")
    with pytest.raises(ConflictError, match="there is already a branch"):
        sessions.rename_branch(at(renamed), "other")


def test_a_switch_moves_current(sessions: Sessions, spoken: BranchDetails) -> None:
    sessions.branch(at(spoken), "other")
    sessions.switch(at(spoken))
    assert os.readlink(Path(spoken.session_dir) / "current") == "branches/main"


def test_what_emacs_saved_in_a_branch_that_is_not_current_counts(sessions: Sessions, spoken: BranchDetails) -> None:
    sessions.branch(at(spoken), "other")
    say(text(spoken), "gptel--preset: executor", "gptel-temperature: 0.3")
    assert sessions.save(at(spoken)).overrides == {"temperature": 0.3}


def add(opened: BranchDetails, words: str) -> None:
    """As `segue add` does, in the current branch."""
    folder = Path(opened.session_dir)
    with segue.open(f"gptel:{folder.parent}").open(folder.name) as live:
        live.add("user", words)


@pytest.fixture
def parted(sessions: Sessions, spoken: BranchDetails) -> BranchDetails:
    """The first branch of a session that goes on in another one; Emacs saved a temperature and a model in the first."""
    sessions.branch(at(spoken), "other", at=1)
    say(text(spoken), "gptel--preset: executor", "gptel-temperature: 0.3", "gptel-model: gpt-5")
    return spoken


def settings(sessions: Sessions, opened: BranchDetails) -> JsonObject:
    return sessions.open(at(opened)).overrides


def test_what_emacs_saved_in_a_branch_that_is_not_current_survives_every_other_writer(
    sessions: Sessions, parted: BranchDetails
) -> None:
    other = sessions.open(BranchPath(parted.session_dir, ""))
    add(parted, "One")
    sessions.save(at(other), {"max_tokens": 10})
    add(parted, "Two")
    assert settings(sessions, parted) == {"temperature": 0.3, "model": "gpt-5", "max_tokens": 10}
    assert settings(sessions, other) == {"temperature": 0.8, "max_tokens": 10}
    assert said(other)[1:] == ["One", "Two"]


def test_a_branch_that_becomes_current_brings_its_settings_along(sessions: Sessions, parted: BranchDetails) -> None:
    add(parted, "One")
    sessions.switch(at(parted))
    wanted = {"temperature": 0.3, "model": "gpt-5"}
    assert settings(sessions, parted) == wanted
    library = segue.open(f"gptel:{sessions.root}")
    assert library.overview(parted.session_id).overrides == wanted
    with library.open(parted.session_id) as live:
        live.set_overrides({"temperature": 0.1})
    assert settings(sessions, parted) == {"temperature": 0.1}


def test_a_switch_in_the_middle_of_writing_brings_them_along_at_once(sessions: Sessions, parted: BranchDetails) -> None:
    with segue.open(f"gptel:{sessions.root}").open(parted.session_id) as live:
        live.switch("main")
        assert live.overview.overrides == {"temperature": 0.3, "model": "gpt-5"}
        live.set_overrides({"temperature": 0.1})
    assert settings(sessions, parted) == {"temperature": 0.1}


def test_a_branch_grown_from_such_a_branch_keeps_them(sessions: Sessions, parted: BranchDetails) -> None:
    add(parted, "One")
    aside = sessions.branch(at(parted), "aside", at=1, switch=False)
    assert aside.overrides == {"temperature": 0.3, "model": "gpt-5"}
    assert sessions.branch(at(parted), "third", at=1).overrides == aside.overrides


def test_a_saved_branch_has_nothing_left_that_waits(sessions: Sessions, parted: BranchDetails) -> None:
    add(parted, "One")
    assert sessions.save(at(parted), {"temperature": 0.1}).overrides == {"temperature": 0.1, "model": "gpt-5"}
    add(parted, "Two")
    assert settings(sessions, parted) == {"temperature": 0.1, "model": "gpt-5"}


def test_a_branch_says_at_which_character_it_goes_another_way(sessions: Sessions, spoken: BranchDetails) -> None:
    made = sessions.branch(at(spoken), "other", at=3, exclude=True)
    fields = find_fields((Path(made.branch_dir) / "branch-metadata.yml").read_bytes()) or {}
    position = fields["branch_point_position"]
    assert (fields["branch_point_turn"], position) == (2, 38)
    assert isinstance(position, int)
    parts = [text(one).read_text()[: position - 1] for one in (made, spoken)]
    assert parts == ["### How do I paginate?\n\nUse cursors.\n"] * 2


def test_what_the_preset_says_is_told_apart_from_what_was_saved_over_it(
    sessions: Sessions, spoken: BranchDetails
) -> None:
    opened = sessions.open(at(spoken))
    assert opened.preset_settings is not None
    assert (opened.preset_settings["temperature"], opened.settings["temperature"]) == (0.5, 0.8)
    say(text(spoken), "gptel--preset: stranger")
    assert sessions.open(at(spoken)).preset_settings is None


def test_bounds_are_those_of_the_text_as_it_is_now(sessions: Sessions, spoken: BranchDetails) -> None:
    assert sessions.open(at(spoken)).bounds == {"response": [[25, 37]]}
    sessions.save(at(spoken))
    assert sessions.open(at(spoken)).bounds == {"response": [[25, 37]]}
    path = text(spoken)
    path.write_text(path.read_text().replace("How do I", "😀 Wie"))
    assert sessions.open(at(spoken)).bounds == {"response": [[22, 34]]}
    path.write_text("### Nobody answered\n")
    assert sessions.open(at(spoken)).bounds == {}


def test_a_scope_that_makes_no_sense_is_reported_and_allows_nothing(sessions: Sessions, spoken: BranchDetails) -> None:
    scope = Path(spoken.branch_dir) / "scope.yml"
    scope.write_text("paths:\n  raed: [/a]\n")
    opened = sessions.open(at(spoken))
    assert opened.scope is None
    assert "scope.yml line 1: paths has no 'raed'" in opened.warnings[0]
    sessions.save(at(spoken))
    assert scope.read_text() == "paths:\n  raed: [/a]\n"


def test_the_file_that_a_person_edits_is_what_tools_are_checked_against(
    sessions: Sessions, spoken: BranchDetails, tmp_path: Path
) -> None:
    library = segue.open(f"gptel:{sessions.root}")
    permissions = Permissions(
        library.store, spoken.session_id, project_root="/p", home="/h", state=str(tmp_path / "state")
    )
    scope = Path(spoken.branch_dir) / "scope.yml"
    scope.write_text("# mine\npaths:\n  read:\n    - /notes/**\n")
    assert permissions.check("read", "/notes/a").allowed
    assert permissions.add("read", "/more/**")
    assert scope.read_text() == '# mine\npaths:\n  read:\n    - /notes/**\n    - "/more/**"\n'
    assert permissions.check("read", "/more/a").allowed
    scope.write_text("paths: [")
    with pytest.raises(UsageError, match=r"scope\.yml line 1"):
        permissions.check("read", "/notes/a")


@pytest.mark.parametrize("target", ["../../outside", "/etc", "branches/nowhere", "branches/../..", ""])
def test_current_never_leads_out_of_the_session(sessions: Sessions, spoken: BranchDetails, target: str) -> None:
    link = Path(spoken.session_dir) / "current"
    link.unlink()
    if target:
        link.symlink_to(target)
    with pytest.raises(NotFoundError):
        sessions.open(BranchPath(spoken.session_dir, ""))
    assert sessions.open(at(spoken)).branch_name == "main"


def test_a_folder_of_another_name_than_its_metadata_is_told(sessions: Sessions, spoken: BranchDetails) -> None:
    moved = Path(spoken.session_dir).rename(Path(sessions.root) / "renamed-1")
    opened = sessions.open(BranchPath(str(moved), "main"))
    assert opened.session_id == "renamed-1"
    assert "but its folder is renamed-1: the folder is used" in opened.warnings[0]
    assert sessions.save(BranchPath(str(moved), "main")).warnings == ()


def test_migration_leaves_what_is_up_to_date_alone(sessions: Sessions, spoken: BranchDetails) -> None:
    sessions.save(at(spoken))
    before = text(spoken).read_bytes()
    assert sessions.migrate(at(spoken)) is None
    assert text(spoken).read_bytes() == before


def test_migration_is_done_once_and_keeps_the_old_files(sessions: Sessions, tmp_path: Path) -> None:
    keeper = Keeper(tmp_path)
    folder = keeper.foreign(
        "old-1",
        session__md=SAID,
        scope_plan__yml="session_id: old-1\nagent_type: executor\n",
        preset__md=LEGACY.format(name="executor"),
    ).parent
    done = sessions.migrate(BranchPath(str(folder.parents[1]), "main"))
    assert done is not None
    assert (done.state, done.preset, done.warnings) == ("existing", "executor", ())
    assert sessions.migrate(at(done)) is None
    assert sorted(path.name for path in folder.iterdir()) == [
        "branch-metadata.yml",
        "metadata.yml",
        "preset.md",
        "scope-plan.yml",
        "scope.yml",
        "session.md",
    ]


@pytest.mark.parametrize(
    "legacy", ["---\ntemperature: hot\n---\n", "---\n: [\n---\n", "\udcff", "---\npaths: [1]\n---\n", ""]
)
def test_a_preset_md_that_makes_no_sense_is_told_and_changes_nothing(
    sessions: Sessions, tmp_path: Path, legacy: str
) -> None:
    path = Keeper(tmp_path).foreign("old-1", session__md=SAID, metadata__yml="session_id: old-1\n")
    path.with_name("preset.md").write_bytes(legacy.encode("utf-8", "surrogateescape"))
    opened = sessions.open(BranchPath(str(path.parents[2]), "main"))
    assert (opened.state, opened.preset) == ("legacy", None)
    assert any("preset.md" in warning for warning in opened.warnings)
    assert path.read_text() == SAID


def test_a_name_with_half_a_character_does_not_stop_a_session(sessions: Sessions, spoken: BranchDetails) -> None:
    library = segue.open(f"gptel:{sessions.root}")
    with library.open(spoken.session_id) as live:
        live.use_preset("half \ud800")
        live.add("user", "Still there?")
    assert said(spoken)[-1] == "Still there?"
    sessions.open(at(spoken))


def test_what_was_created_counts_as_paused_and_is_listed(sessions: Sessions) -> None:
    made = sessions.create("API Integration")
    library = segue.open(f"gptel:{sessions.root}")
    (head,) = library.list()
    assert (head.id, head.title, head.status) == (made.session_id, "API Integration", "paused")
    assert library.overview(head.id).updated_at - NOW < timedelta(seconds=1)


def test_whoever_else_writes_in_the_session_is_named(sessions: Sessions, spoken: BranchDetails) -> None:
    with segue.open(f"gptel:{sessions.root}").open(spoken.session_id):
        (warning,) = sessions.open(at(spoken)).warnings
    assert warning.startswith(f"process {os.getpid()} is writing in this session")


def test_what_a_dead_process_recorded_and_did_not_show_is_told(sessions: Sessions, spoken: BranchDetails) -> None:
    sessions.save(at(spoken))
    shown = text(spoken).read_bytes()
    with segue.open(f"gptel:{sessions.root}").open(spoken.session_id) as live:
        live.add("assistant", "With the next cursor.")
    text(spoken).write_bytes(shown)  # as if it had been killed before it came to this
    (warning,) = sessions.open(at(spoken)).warnings
    assert warning == "session.md lacks the last 1 turn, since a process died; segue gptel save adds them"
    assert sessions.save(at(spoken)).warnings == ()
    assert "With the next cursor." in text(spoken).read_text()


def test_an_unfinished_write_is_reported_with_where_it_goes(sessions: Sessions, spoken: BranchDetails) -> None:
    sessions.save(at(spoken))
    with (Path(spoken.session_dir) / ".segue" / "events.jsonl").open("ab") as events:
        events.write(b'{"type": "turn"')
    (warning,) = sessions.open(at(spoken)).warnings
    assert warning == (
        "a process died while it wrote 15 bytes, which were never confirmed; "
        f"the next write moves them to {sessions.root}/.quarantine"
    )
    assert sessions.save(at(spoken)).warnings == ()
    assert [path.read_bytes() for path in (Path(sessions.root) / ".quarantine").iterdir()] == [b'{"type": "turn"']


def test_a_damaged_session_opens_with_a_warning(sessions: Sessions, spoken: BranchDetails) -> None:
    sessions.save(at(spoken))
    events = Path(spoken.session_dir) / ".segue" / "events.jsonl"
    data = bytearray(events.read_bytes())
    data[30] ^= 1  # at the beginning, where nothing is read to show the text
    events.write_bytes(data)
    opened = sessions.open(at(spoken))
    (warning,) = opened.warnings
    assert "is damaged at .segue/events.jsonl line 1" in warning
    command = f"segue recover {spoken.session_id} --store gptel:{sessions.root}"
    assert warning.endswith(f"; {command} repairs it, and adds what you save in session.md until then")
    assert opened.damages[0].startswith(".segue/events.jsonl line 1")
    assert opened.settings["temperature"] == 0.8


def test_a_preset_that_only_the_editor_has_is_valid(sessions: Sessions, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no preset 'mine'"):
        sessions.create("API", preset="mine")
    here = Sessions(sessions.root, load_presets([SHIPPED]), editor_presets=["mine"], clock=lambda: NOW)
    made = here.create("API", preset="mine")
    assert (made.preset, made.preset_settings, made.warnings) == ("mine", None, ())
    saved = here.save(at(made), {"temperature": 0.3}, preset="mine")
    assert (saved.preset, saved.overrides, saved.warnings) == ("mine", {"temperature": 0.3}, ())
    about = "session_id: old-1\ncreated: 2026-01-02T03:04:05Z\nupdated: 2026-01-02T03:04:05Z\n"
    path = Keeper(tmp_path).foreign(
        "old-1", session__md=SAID, metadata__yml=about, preset__md=LEGACY.format(name="mine")
    )
    legacy = here.open(BranchPath(str(path.parents[2]), "main"))
    assert (legacy.state, legacy.preset, legacy.overrides) == ("legacy", "mine", {})
    assert "the next save completes the migration" in legacy.warnings[0]
    migrated = here.migrate(BranchPath(str(path.parents[2]), ""))
    assert migrated is not None
    assert (migrated.state, migrated.preset, migrated.warnings) == ("existing", "mine", ())
    assert footer(path).keys() == {"gptel--preset", "gptel--bounds"}


def test_opening_writes_nothing_and_where_it_cannot_write_says_so(tmp_path: Path) -> None:
    kernel = ReadOnlyKernel()
    sessions = Sessions(str(tmp_path / "sessions"), load_presets([SHIPPED]), kernel=kernel)
    made = Sessions(sessions.root, load_presets([SHIPPED])).create("API")
    assert sessions.open(at(made)).warnings == ()
    assert kernel.attempts == []
    path = Keeper(tmp_path).foreign("old-1", session__md=SAID, preset__md=LEGACY.format(name="executor"))
    opened = sessions.open(BranchPath(str(path.parents[2]), ""))
    assert opened.scope is not None
    assert opened.scope["paths"] == {"read": ["/notes/**"], "write": [], "deny": []}
    assert "the scope is used nevertheless" in opened.warnings[-1]
