"""The tree on the disk: what people and Emacs find there, and what becomes of what they do to it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.dialects.gptel.format.fields import find_fields
from segue.dialects.gptel.store import GptelStore
from segue.errors import DamagedError, SegueError, StorageError
from segue.library import Library
from segue.model import OverridesChanged, PresetChosen, ScopeChanged, TitleChanged, Turn, Unknown
from segue.testing.conformance.chapter import ID, create_and_close, create_session, event_ids
from segue.testing.events import START, every_kind, fork, metadata, moment, status, switched, turn, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CORPUS = Path(__file__).parents[3] / "corpus" / "gptel"


@pytest.fixture
def store(tmp_path: Path) -> GptelStore:
    return GptelStore(str(tmp_path))


@pytest.fixture
def main(tmp_path: Path) -> Path:
    return tmp_path / ID / "branches" / "main"


def said(store: GptelStore, branch: str = "main") -> list[tuple[str, str]]:
    return [(event.role, event.content) for event in store.load(ID).path(branch)]


def plant(main: Path, name: str, metadata: str = "") -> None:
    """A session as Emacs leaves it: no file of ours."""
    main.mkdir(parents=True)
    (main / "session.md").write_bytes((CORPUS / name).read_bytes())
    if metadata:
        (main / "metadata.yml").write_text(metadata)
    (main.parent.parent / "current").symlink_to(f"branches/{main.name}")


# ── What is there ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_session_is_the_tree_that_emacs_expects(store: GptelStore, main: Path) -> None:
    preset = PresetChosen(name="executor", timestamp=START, id="p")
    create_and_close(store, preset, ScopeChanged(scope={"paths": {"read": ["src/**"]}}, timestamp=START, id="s"))
    assert (main / "session.md").read_bytes() == b""
    about = find_fields((main / "metadata.yml").read_bytes())
    assert about == {
        "session_id": ID,
        "created": START.isoformat(),
        "updated": START.isoformat(),
        "preset": "executor",
    }
    assert find_fields((main / "scope.yml").read_bytes()) == {"paths": {"read": ["src/**"]}}
    assert find_fields((main / "branch-metadata.yml").read_bytes()) == {
        "parent_branch": None,
        "created": START.isoformat(),
    }
    assert os.readlink(main.parent.parent / "current") == "branches/main"


def test_a_conversation_is_a_text_with_a_footer(store: GptelStore, main: Path) -> None:
    change = OverridesChanged(values={"temperature": 0.8, "tool": "claude"}, timestamp=moment(1), id="o")
    create_and_close(
        store, PresetChosen(name="executor", timestamp=START, id="p"), change, turn(0, "How?"), turn(1, "Größe.")
    )
    lines = (main / "session.md").read_text().split("\n")
    assert lines[:6] == ["### How?", "", "Größe.", "", "### ", "\f"]
    assert lines[7:] == [
        "<!-- Local Variables: -->",
        "<!-- gptel--preset: executor -->",
        "<!-- gptel-temperature: 0.8 -->",
        "<!-- gptel--bounds: ((response (11 17))) -->",
        "<!-- End: -->",
        "",
    ]


def test_a_branch_has_a_text_of_its_own_and_current_follows(store: GptelStore, main: Path) -> None:
    with create_session(store, *turns(1, 3), fork("other", 2)) as writer:
        writer.append(turn(4, branch="other"))
        assert os.readlink(main.parent.parent / "current") == "branches/other"
        text = (main.parent / "other" / "session.md").read_text()
        assert [number for number in range(1, 5) if f"turn {number}." in text] == [1, 2, 4]
        writer.append(switched("main"))
    assert os.readlink(main.parent.parent / "current") == "branches/main"
    lineage = find_fields((main.parent / "other" / "branch-metadata.yml").read_bytes())
    assert lineage is not None
    assert lineage["parent_branch"] == "main"


def test_a_tool_call_is_in_the_log_for_people(store: GptelStore, main: Path) -> None:
    with create_session(store) as writer:
        writer.append(replace(turn(1, "a.txt"), role="tool", parts=({"type": "tool_result", "name": "list_dir"},)))
    assert "* list_dir\n" in (main / "tools.org").read_text()


def test_a_long_conversation_is_shown_whole_when_it_is_left(store: GptelStore, main: Path) -> None:
    with create_session(store) as writer:
        for number in range(8):
            writer.append(turn(number, f"{number} " * 40_000), ids_are_new=True)
    assert store.load(ID).turn_count == 8
    assert (main / "session.md").read_bytes().count(b"7 7 7") > 0


# ── What people do to it ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_text_edited_by_hand_is_the_truth(store: GptelStore, main: Path) -> None:
    create_and_close(store, turn(0, "Why?"), turn(1, "Becuase."), turn(2, "Gone."), status("paused"))
    path = main / "session.md"
    text = path.read_text().replace("Becuase", "Because").replace("### Gone.", "### And how?\n\nTell me.")
    path.write_text(text)
    expected = [("user", "Why?"), ("assistant", "Because."), ("user", "And how?\n\nTell me.")]
    assert said(store) == expected
    session = store.load(ID)
    assert session.turns[0].id == "turn-0"
    assert session.turns[0].tokens == 0
    (note,) = session.unknown
    assert note.type == "edited"
    assert [old["content"] for old in note.data["removed"]] == ["Becuase.", "Gone."]  # type: ignore[attr-defined]
    with store.open(ID) as writer:
        assert path.read_text() == text
        writer.append(turn(3, "So."))
    assert said(store) == [*expected, ("assistant", "So.")]
    assert store.load(ID).unknown == session.unknown


def test_a_text_saved_while_a_writer_lives_is_taken_in_and_not_overwritten(store: GptelStore, main: Path) -> None:
    with create_session(store, turn(0, "Why?")) as writer:
        path = main / "session.md"
        path.write_text(path.read_text().replace("Why?", "Why not?"))
        writer.append(turn(1, "Because."))
        assert said(store) == [("user", "Why not?"), ("assistant", "Because.")]
    assert "### Why not?\n" in path.read_text()


def test_an_edit_in_one_branch_changes_no_other(store: GptelStore, main: Path) -> None:
    create_and_close(store, *turns(1, 3), fork("other", 2), turn(4, branch="other"))
    path = main / "session.md"
    path.write_text(path.read_text().replace("turn 1.", "turn one."))
    with store.open(ID) as writer:
        writer.append(turn(5, branch="other"))
    assert [text for _, text in said(store)] == [f"This is what was said in turn {n}." for n in ("one", 2, 3)]
    assert [text for _, text in said(store, "other")] == [turn(n).content for n in (1, 2, 4, 5)]


def test_settings_changed_in_emacs_are_the_settings(store: GptelStore, main: Path) -> None:
    change = OverridesChanged(values={"temperature": 0.5, "tool": "claude"}, timestamp=moment(1), id="o")
    create_and_close(store, PresetChosen(name="executor", timestamp=START, id="p"), change, turn(0))
    path = main / "session.md"
    path.write_text(path.read_text().replace("temperature: 0.5", "model: gpt-4o").replace("executor", "planner"))
    overview = store.overview(ID)
    assert overview.overrides == {"model": "gpt-4o", "tool": "claude"}
    assert overview.preset is not None
    assert overview.preset.name == "planner"
    with store.open(ID) as writer:
        writer.append(turn(1))
    assert "<!-- gptel-model: gpt-4o -->" in path.read_text()
    assert store.overview(ID).overrides == overview.overrides


def test_a_scope_changed_by_hand_is_the_scope_and_keeps_its_words(store: GptelStore, main: Path) -> None:
    create_and_close(store, ScopeChanged(scope={"paths": {"read": ["src/**"]}}, timestamp=START, id="s"))
    text = "# mine\npaths:\n  deny: [secrets]\n"
    (main / "scope.yml").write_text(text)
    assert store.overview(ID).scope == {"paths": {"deny": ["secrets"]}}
    with store.open(ID) as writer:
        writer.append(turn(1), TitleChanged(title="x", timestamp=moment(2), id="t"))
    assert (main / "scope.yml").read_text() == text
    (main / "scope.yml").write_text("paths: [")
    assert store.overview(ID).scope == {"paths": {"deny": ["secrets"]}}
    with store.open(ID) as writer:
        writer.append(TitleChanged(title="y", timestamp=moment(3), id="t2"))
    assert (main / "scope.yml").read_text() == "paths: ["


def test_fields_of_others_in_the_metadata_stay(store: GptelStore, main: Path) -> None:
    create_and_close(store)
    path = main / "metadata.yml"
    path.write_text(path.read_text() + "parent_session_id: agent-1\n")
    with store.open(ID) as writer:
        writer.append(TitleChanged(title="x", timestamp=moment(9), id="t"))
    found = find_fields(path.read_bytes())
    assert found is not None
    assert (found["parent_session_id"], found["updated"]) == ("agent-1", moment(9).isoformat())


# ── Trees of others ──────────────────────────────────────────────────────────────────────────────────────────────────

ABOUT = f"""session_id: "{ID}"
created: "2026-01-02T03:04:05Z"
updated: "2026-01-02T03:05:00Z"
preset: executor
type: agent
"""


def test_a_session_that_emacs_wrote_can_be_read_without_writing(store: GptelStore, main: Path) -> None:
    plant(main, "preset-and-temperature.md", ABOUT)
    session = store.load(ID)
    assert [event.content for event in session.turns][:2] == ["How do I paginate?", "Use cursors.\n\nGröße 😀 ok."]
    assert session.preset is not None
    assert (session.preset.name, session.overrides, session.status) == ("executor", {"temperature": 0.8}, "paused")
    assert session.extra == {"gptel": {"type": "agent"}}
    assert [head.turn_count for head in store.heads()] == [4]
    assert not (main.parent.parent / ".segue").exists()


@pytest.mark.parametrize("name", ["preset-and-temperature.md", "system-and-tool.md", "hostile.md"])
def test_a_session_that_emacs_wrote_can_be_written(store: GptelStore, main: Path, name: str) -> None:
    plant(main, name)
    before = said(store)
    with store.open(ID) as writer:
        writer.append(turn(1, "An answer."))
        writer.append(turn(2, "A question."))
    assert said(store) == [*before, ("assistant", "An answer."), ("user", "A question.")]
    (main / "session.md").write_text((main / "session.md").read_text().replace("A question", "Another question"))
    assert said(store)[:-1] == [*before, ("assistant", "An answer.")]


def test_a_branch_that_emacs_made_is_a_branch(store: GptelStore, main: Path) -> None:
    plant(main, "preset-and-temperature.md", ABOUT)
    other = main.parent / "20260102030405-other"
    other.mkdir()
    text = (CORPUS / "preset-and-temperature.md").read_text()
    (other / "session.md").write_text(text.replace("And then?", "And when?"))
    (other / "branch-metadata.yml").write_text("parent_branch: main\ncreated: 2026-01-02T03:04:30Z\n")
    session = store.load(ID)
    assert session.branch == "main"
    assert session.branches[other.name].at == 2
    assert [event.content for event in session.path(other.name)][2:] == ["And when?", "Yes."]
    with store.open(ID) as writer:
        writer.append(switched(other.name))
    assert os.readlink(main.parent.parent / "current") == f"branches/{other.name}"


def test_older_metadata_is_read(store: GptelStore, main: Path) -> None:
    plant(main, "hostile.md")
    (main / "scope-plan.yml").write_text("agent_type: planner\ncreated: 2026-01-02T03:04:05Z\n")
    session = store.load(ID)
    assert (session.agent, session.created_at.year) == ("planner", 2026)
    assert session.preset is not None
    assert session.preset.name == "planner"


@pytest.mark.parametrize("target", ["../../elsewhere", "/etc", "branches/../../x", "branches", "nowhere"])
def test_a_link_that_leads_out_is_not_followed(store: GptelStore, tmp_path: Path, target: str) -> None:
    create_and_close(store, turn(1))
    link = tmp_path / ID / "current"
    link.unlink()
    link.symlink_to(target)
    assert event_ids(store) == ["turn-1"]
    with store.open(ID) as writer:
        writer.append(turn(2))
    assert os.readlink(link) == "branches/main"


def test_a_branch_that_is_a_link_is_no_branch(store: GptelStore, main: Path, tmp_path: Path) -> None:
    create_and_close(store, turn(1))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "session.md").write_text("secret")
    (main.parent / "stolen").symlink_to(elsewhere)
    assert list(store.load(ID).branches) == ["main"]
    store.delete(ID)
    assert (elsewhere / "session.md").read_text() == "secret"


def test_what_a_dead_process_left_is_removed_and_nothing_of_a_living_one(store: GptelStore, tmp_path: Path) -> None:
    of_the_dead, of_the_living, of_others = (f".new-dead-{'0' * 16}", f".new-{ID}-{'0' * 16}", ".new-idea")
    with create_session(store):
        for name in (of_the_dead, of_the_living, of_others):
            (tmp_path / name / "branches" / "main").mkdir(parents=True)
        GptelStore(str(tmp_path)).create("next", [metadata("next")]).close()
        left = {path.name for path in tmp_path.iterdir() if path.name.startswith(".new-")}
    assert left == {of_the_living, of_others}


def test_a_folder_without_branches_is_no_session(store: GptelStore, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert list(store.ids()) == []
    with pytest.raises(SegueError):
        store.create("notes", [replace(TitleChanged(title="x", timestamp=START, id="t"))])


# ── Files of different ages ──────────────────────────────────────────────────────────────────────────────────────────

FIRST = [("user", "How?"), ("assistant", "Thus."), ("user", "Why?"), ("assistant", "Therefore.")]


def talk(store: GptelStore, *said: tuple[str, str]) -> None:
    library = Library(store)
    with library.open(ID) if store.folder.sub(ID).exists() else library.create(id=ID, agent="executor") as live:
        for role, text in said:
            live.add(role, text)


def test_without_our_events_the_text_is_the_session(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST)
    shown = (main / "session.md").read_text()
    shutil.rmtree(main.parent.parent / ".segue")
    assert said(store) == FIRST
    assert store.examine(ID).damages == ()
    with Library(store).open(ID) as live:
        live.tag("kept")
    assert said(store) == FIRST
    assert (main / "session.md").read_text().partition("\f")[0] == shown.partition("\f")[0]


def test_without_our_events_the_settings_and_the_scope_are_those_of_the_files(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST)
    with Library(store).open(ID) as live:
        live.use_preset("executor")
        live.set_overrides({"temperature": 0.3})
        live.set_scope({"paths": {"read": ["/a"]}})
    shutil.rmtree(main.parent.parent / ".segue")
    session = store.load(ID)
    assert (session.preset and session.preset.name, session.overrides) == ("executor", {"temperature": 0.3})
    assert session.scope == {"paths": {"read": ["/a"]}}


def test_events_that_are_older_than_the_text_lose_none_of_it(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST[:2])
    events = main.parent.parent / ".segue" / "events.jsonl"
    older = events.read_bytes()
    talk(store, *FIRST[2:])
    events.write_bytes(older)
    assert said(store) == FIRST
    talk(store, ("user", "And?"))
    assert said(store) == [*FIRST, ("user", "And?")]
    assert "Therefore." in (main / "session.md").read_text()


def test_a_text_that_is_older_than_the_events_loses_nothing(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST[:2])
    older = (main / "session.md").read_bytes()
    talk(store, *FIRST[2:])
    (main / "session.md").write_bytes(older)
    assert said(store) == FIRST
    talk(store, ("user", "And?"))
    assert "Therefore." in (main / "session.md").read_text()


def test_events_of_another_copy_are_joined_with_the_text(store: GptelStore, main: Path, tmp_path: Path) -> None:
    talk(store, *FIRST[:2])
    shutil.copytree(tmp_path / ID, tmp_path / "other" / ID, symlinks=True)
    talk(GptelStore(str(tmp_path / "other")), ("user", "There"), ("assistant", "Yes, there."))
    talk(store, ("user", "Here"), ("assistant", "Yes, here."))
    shutil.copy(tmp_path / "other" / ID / ".segue" / "events.jsonl", main.parent.parent / ".segue" / "events.jsonl")
    talk(store, ("user", "And?"))
    assert {text for _, text in said(store)} == {"How?", "Thus.", "There", "Yes, there.", "Here", "Yes, here.", "And?"}
    assert ("assistant", "Yes, here.") in said(store)


def test_a_folder_of_a_branch_that_was_copied_is_a_branch_with_all_that_it_says(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST)
    shutil.copytree(main, main.with_name("copied"))
    assert said(store, "copied") == FIRST
    talk(store, ("user", "And?"))
    assert said(store, "copied") == FIRST
    assert "Therefore." in (main.with_name("copied") / "session.md").read_text()


def test_an_answer_that_a_person_removed_stays_removed_and_is_on_record(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST)
    path = main / "session.md"
    path.write_text(path.read_text().replace("Thus.\n", ""))
    talk(store, ("user", "And?"))
    assert ("assistant", "Thus.") not in said(store)
    assert b"Thus." in (main.parent.parent / ".segue" / "events.jsonl").read_bytes()
    assert "Thus." not in path.read_text()


def _without_the_mark(text: str) -> str:
    return re.sub(r"<!-- segue .*\n", "", text)


FOOTERS: dict[str, Callable[[str], str]] = {
    "without our line": _without_the_mark,
    "without the form feed": lambda text: _without_the_mark(text).replace("\f\n", ""),
    "typed behind the form feed": lambda text: text.replace("\f", "\fAnd?"),
    "typed before the form feed": lambda text: text.replace("\f", "And?\f"),
    "in other comments": lambda text: _without_the_mark(text).replace("<!-- ", ";; ").replace(" -->", ""),
    "in comments of Org": lambda text: _without_the_mark(text).replace("<!-- ", "# ").replace(" -->", ""),
}


@pytest.mark.parametrize("how", FOOTERS)
def test_bounds_say_who_said_what_whatever_became_of_the_footer(store: GptelStore, main: Path, how: str) -> None:
    """Two of the four were said in Emacs, so that the bounds alone know of them."""
    talk(store, *FIRST[:2])
    path = main / "session.md"
    text = path.read_text().replace("### \n", "### Why?\n\nTherefore.\n")
    start = text.index("Therefore.") + 1
    text = re.sub(r"\(response \((.*?)\)", rf"(response (\1) ({start} {start + 10})", text)
    assert f"({start} {start + 10})" in text
    path.write_text(FOOTERS[how](text))
    assert [one for one in said(store) if one != ("user", "And?")] == FIRST
    talk(store, ("user", "More?"))
    assert [one for one in said(store) if one != ("user", "And?")] == [*FIRST, ("user", "More?")]


def test_bounds_of_another_text_are_not_believed(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST)
    path = main / "session.md"
    path.write_text(_without_the_mark(path.read_text()).replace("How?", "How on earth?"))
    assert ("assistant", "Thus.") in said(store)
    assert ("assistant", "Therefore.") in said(store)
    assert ("user", "How on earth?") in said(store)


def test_a_list_of_variables_of_somebody_elses_is_on_record_when_the_file_is_written_anew(
    store: GptelStore, main: Path
) -> None:
    talk(store, *FIRST)
    path = main / "session.md"
    path.write_text(path.read_text().replace("<!-- End", "<!-- fill-column: 77 -->\n<!-- End"))
    talk(store, ("user", "And?"))
    notes = [event for event in store.read(ID) if isinstance(event, Unknown) and event.type == "edited"]
    assert notes[-1].data["variables"] == {"main": {"fill-column": "77"}}


# ── Damage ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_text_cut_off_anywhere_costs_nothing_that_was_said(
    store: GptelStore, main: Path, positions: Callable[[bytes], Iterator[int]]
) -> None:
    create_and_close(store, *turns(1, 3), status("paused"))
    path, events = main / "session.md", list(store.read(ID))
    whole = path.read_bytes()
    for size in positions(whole):
        path.write_bytes(whole[:size])
        examination = store.examine(ID)
        session = examination.session
        assert session is not None
        assert [event.id for event in session.turns] == ["turn-1", "turn-2", "turn-3"], size
        if examination.damages:
            with pytest.raises(DamagedError):
                store.open(ID)
    path.write_bytes(whole[:40])
    store.recover(ID)
    assert path.read_bytes() == whole
    assert list(store.read(ID)) == events


def flip(main: Path, words: str) -> None:
    """Damage the event with these words."""
    events = main.parents[1] / ".segue" / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(words.encode(), words.swapcase().encode()))


def test_recovery_takes_in_what_was_written_since(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST)
    path = main / "session.md"
    path.write_text(path.read_text().replace("### \n", "### And then?\n"))
    flip(main, "Why?")
    store.recover(ID)
    assert said(store) == [*FIRST, ("user", "And then?")]
    assert store.examine(ID).damages == ()
    assert said(GptelStore(store.folder.path)) == said(store)
    talk(store, ("assistant", "Nothing."))
    assert said(store)[-2:] == [("user", "And then?"), ("assistant", "Nothing.")]


def test_recovery_takes_in_a_setting_that_was_changed_since(store: GptelStore, main: Path) -> None:
    talk(store, *FIRST)
    path = main / "session.md"
    path.write_text(path.read_text().replace("<!-- End", "<!-- gptel--tool-names: nil -->\n<!-- End"))
    flip(main, "Why?")
    assert store.recover(ID).session.overrides == {"tools": []}
    assert said(store) == [*FIRST[:2], *FIRST[3:]]
    assert "gptel--tool-names: nil" in path.read_text()


def test_recovery_of_a_text_that_was_cut_off_takes_in_the_others_and_what_is_whole_of_it(
    store: GptelStore, main: Path
) -> None:
    talk(store, *FIRST)
    with Library(store).open(ID) as live:
        live.set_overrides({"temperature": 0.8})
        live.fork(name="other")
    other = main.with_name("other") / "session.md"
    other.write_text(other.read_text().replace("### \n", "### And then?\n"))
    path = main / "session.md"
    typed = path.read_text().replace("### \n", "### Typed here.\n")
    path.write_text(typed[: typed.index("<!-- gptel")])
    assert [damage.place for damage in store.examine(ID).damages] == ["branches/main/session.md"]
    recovery = store.recover(ID)
    assert recovery.session.overrides == {"temperature": 0.8}
    assert said(store, "other") == [*FIRST, ("user", "And then?")]
    assert said(store) == [*FIRST, ("user", "Typed here.")]


def test_a_flipped_byte_in_the_text_is_an_edit_and_the_original_is_kept(
    store: GptelStore, main: Path, positions: Callable[[bytes], Iterator[int]]
) -> None:
    create_and_close(store, *turns(0, 2), every_kind()[0], status("paused"))
    path, events = main / "session.md", list(store.read(ID))
    whole = path.read_bytes()
    for at in positions(whole):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            now = list(store.read(ID))
        except DamagedError:
            continue
        removed = [
            str(old["id"])
            for event in now
            if isinstance(event, Unknown) and event.type == "edited"
            for old in event.data["removed"]  # type: ignore[attr-defined]
        ]
        there = {event.id for event in now} | set(removed)
        assert {event.id for event in events if isinstance(event, Turn)} <= there, at


def test_a_file_where_the_branches_should_be_is_no_session(store: GptelStore, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "branches").write_text("x")
    assert list(store.ids()) == []
    os.symlink(tmp_path / "odd", tmp_path / "linked")
    with pytest.raises((SegueError, StorageError)):
        store.load("linked")
