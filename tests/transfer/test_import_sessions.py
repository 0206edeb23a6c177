"""Importing sessions of AI tools: all of it once, then only what is new, however the tool changes its files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

import segue
from segue.errors import SessionExistsError
from segue.integrations import INTEGRATIONS
from segue.model import Turn
from segue.transfer.import_sessions import FailedImport, Imported, ImportWatch, import_session
from tests.support.integration_homes import CLAUDE, PLACES, later, move_in, sessions, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library

AT = "2026-01-05T09:30:00.000Z"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return segue.open(f"journal:{tmp_path / 'sessions'}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found = tmp_path / "home"
    found.mkdir()
    return found


def copy(tool: str, home: Path, library: Library) -> Imported:
    return import_session(INTEGRATIONS[tool], sessions(tool, home)[-1], library.store, clock=later)


def said(name: str, after: str | None, text: str, role: str = "user", **more: object) -> dict[str, object]:
    message = {"role": role, "content": text, **({"id": f"m-{name}"} if role == "assistant" else {})}
    return {"type": role, "uuid": name, "parentUuid": after, "timestamp": AT, "message": message, **more}


def write(home: Path, *records: dict[str, object], place: str = PLACES["claude"]) -> None:
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def contents(library: Library, branch: str | None = None) -> list[str]:
    session = library.load(f"claude-{CLAUDE}")
    return [turn.content for turn in session.path(branch or session.branch)]


@pytest.mark.parametrize("tool", INTEGRATIONS)
@pytest.mark.parametrize("scheme", ["journal", "memory", "soleur", "cortext", "gptel"])
def test_a_session_is_copied_once_into_any_store_and_the_tool_notices_nothing(
    tool: str, scheme: str, home: Path, tmp_path: Path
) -> None:
    move_in(home, tool)
    before = snapshot(home)
    library = segue.open("memory:" if scheme == "memory" else f"{scheme}:{tmp_path / 'store'}")
    first = copy(tool, home, library)
    assert (first.is_new, first.damages == ()) == (True, tool != "cursor")  # whose limits are named
    events = list(library.store.read(first.session_id))
    again = copy(tool, home, library)
    assert (again.is_new, again.turns) == (False, 0)
    assert list(library.store.read(first.session_id)) == events
    session = library.load(first.session_id)
    assert (session.agent, session.status, session.extra["tool"]) == (tool, "paused", tool)
    assert session.extra["origin"] == sessions(tool, home)[-1].id
    assert sum(branch.own for branch in session.branches.values()) == first.turns
    assert all(turn.native and turn.native["tool"] == tool for turn in session.turns)
    assert snapshot(home) == before


def test_what_a_tool_adds_is_all_that_is_copied_the_second_time(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why?"), said("b", "a", "It expires.", "assistant"))
    assert copy("claude", home, library).turns == 2
    write(home, said("c", "b", "And now?"))
    assert copy("claude", home, library).turns == 1
    assert contents(library) == ["Why?", "It expires.", "And now?"]


def test_what_was_said_from_an_earlier_turn_on_is_a_branch_and_the_newest_goes_on(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why?"), said("b", "a", "It expires.", "assistant"), said("c", "b", "First idea"))
    copy("claude", home, library)
    write(home, said("d", "b", "Second idea"), said("e", "d", "Good.", "assistant"))
    assert copy("claude", home, library).turns == 2
    session = library.load(f"claude-{CLAUDE}")
    assert (session.branch, session.branches["branch-2"].at) == ("branch-2", 2)
    assert contents(library) == ["Why?", "It expires.", "Second idea", "Good."]
    assert contents(library, "main") == ["Why?", "It expires.", "First idea"]


def test_results_that_stand_side_by_side_make_no_branch(home: Path, library: Library) -> None:
    def block(name: str, after: str, kind: dict[str, object], role: str) -> dict[str, object]:
        record = said(name, after, "", role)
        return {**record, "message": {"role": role, "content": [kind], **({"id": "m"} if role == "assistant" else {})}}

    calls: list[dict[str, object]] = [
        {"type": "tool_use", "id": str(number), "name": "Bash", "input": {}} for number in (1, 2)
    ]
    results: list[dict[str, object]] = [
        {"type": "tool_result", "tool_use_id": str(number), "content": f"{number}"} for number in (1, 2)
    ]
    write(
        home,
        said("a", None, "Look."),
        block("b", "a", calls[0], "assistant"),
        block("r1", "b", results[0], "user"),
        block("c", "b", calls[1], "assistant"),
        block("r2", "c", results[1], "user"),
        said("d", "r2", "Done.", "assistant"),
    )
    copy("claude", home, library)
    session = library.load(f"claude-{CLAUDE}")
    assert list(session.branches) == ["main"]
    assert [turn.role for turn in session.turns] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [part["id"] for part in session.turns[1].parts] == ["1", "2"]


def test_what_agents_do_on_their_own_is_beside_the_conversation(home: Path, library: Library) -> None:
    aside: dict[str, Any] = {"isSidechain": True}
    write(home, said("a", None, "Look."), said("x", None, "Search.", **aside), said("b", "a", "Done.", "assistant"))
    write(home, said("y", "x", "Found.", "assistant", **aside))
    place = f"{PLACES['claude'].removesuffix('.jsonl')}/subagents/agent-7.jsonl"
    write(home, said("z", None, "Count.", **aside, agentId="seven"), place=place)
    copy("claude", home, library)
    assert copy("claude", home, library).turns == 0
    assert contents(library) == ["Look.", "Done."]
    assert contents(library, "agent-x") == ["Search.", "Found."]
    assert contents(library, "agent-seven") == ["Count."]


def test_a_branch_of_pi_is_a_branch_here(home: Path, library: Library) -> None:
    move_in(home, "pi")
    first = copy("pi", home, library)
    records = [json.loads(line) for line in (home / PLACES["pi"]).read_text().splitlines()]
    asked = next(record for record in records if record["type"] == "message")
    again = {**asked, "id": "0000000f", "message": {"role": "user", "content": "Another way"}}
    write(
        home, again, {"type": "session_info", "id": "1", "parentId": "0000000f", "name": "Two ways"}, place=PLACES["pi"]
    )
    assert copy("pi", home, library).turns == 1
    session = library.load(first.session_id)
    assert (session.title, [turn.content for turn in session.turns]) == ("Two ways", ["Another way"])
    assert len(session.path("main")) == first.turns


def test_a_message_that_gemini_changed_is_a_branch_and_the_old_words_stay(home: Path, library: Library) -> None:
    def message(text: str) -> dict[str, object]:
        return {"id": "1", "type": "user", "content": text, "timestamp": AT}

    place = PLACES["gemini"]
    write(home, {"sessionId": "g-1", "kind": "main"}, message("first"), place=place)
    copy("gemini", home, library)
    write(home, message("second"), place=place)
    assert copy("gemini", home, library).turns == 1
    assert copy("gemini", home, library).turns == 0
    session = library.load("gemini-g-1")
    assert [turn.content for turn in session.turns] == ["second"]
    assert [turn.content for turn in session.path("main")] == ["first"]


def test_turns_added_here_stay_where_they_are_and_the_tool_goes_on_beside_them(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why?"), said("b", "a", "It expires.", "assistant"))
    copy("claude", home, library)
    with library.resume(f"claude-{CLAUDE}") as session:
        session.rename("Mine")
        session.add("user", "Said here")
    write(home, said("c", "b", "Said there"), {"type": "custom-title", "customTitle": "Theirs"})
    assert copy("claude", home, library).turns == 1
    assert contents(library) == ["Why?", "It expires.", "Said here"]
    assert contents(library, "branch-2") == ["Why?", "It expires.", "Said there"]
    assert library.load(f"claude-{CLAUDE}").title == "Mine"


def test_a_title_that_the_tool_gives_later_is_taken_over(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why does login fail?"))
    copy("claude", home, library)
    assert library.load(f"claude-{CLAUDE}").title == "Why does login fail?"
    write(home, {"type": "ai-title", "aiTitle": "Login bug"})
    copy("claude", home, library)
    copy("claude", home, library)
    assert library.load(f"claude-{CLAUDE}").title == "Login bug"


def test_an_answer_that_is_being_written_waits_until_it_is_complete(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why?"), said("b", "a", "It", "assistant"))
    history, now = INTEGRATIONS["claude"], sessions("claude", home)[0]
    early = import_session(
        history, now, library.store, clock=lambda: later().fromtimestamp(now.changed_at + 1, later().tzinfo)
    )
    assert (early.turns, early.is_growing) == (1, True)
    late = import_session(history, now, library.store, clock=later)
    assert (late.turns, late.is_growing) == (1, False)


def test_a_damaged_line_is_reported_with_its_place_and_costs_only_itself(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why?"))
    with (home / PLACES["claude"]).open("ab") as file:
        file.write(b'{"type":"assistant","uuid":"b","parent\n')
    write(home, said("c", "b", "And now?"))
    (damage,) = copy("claude", home, library).damages
    assert (damage.line, damage.place) == (2, f"{home / PLACES['claude']}, line 2")
    assert (damage.offset, damage.size_bytes) == (len(json.dumps(said("a", None, "Why?"))) + 1, 38)
    assert contents(library) == ["Why?", "And now?"]


def test_a_turn_that_no_store_takes_is_kept_as_text_and_once(home: Path, library: Library) -> None:
    deep: object = "x"
    for _ in range(300):
        deep = [deep]
    write(home, said("a", None, "Why?", more=deep))
    assert "only the text" in copy("claude", home, library).damages[0].reason
    assert copy("claude", home, library).turns == 0
    assert contents(library) == ["Why?"]


def test_another_session_of_that_name_is_left_alone(home: Path, library: Library) -> None:
    library.create(id=f"claude-{CLAUDE}").close()
    move_in(home, "claude")
    with pytest.raises(SessionExistsError):
        copy("claude", home, library)


def test_a_session_without_turns_is_not_copied(home: Path, library: Library) -> None:
    write(home, {"type": "summary", "summary": "Nothing"})
    assert copy("claude", home, library).session_id == ""
    assert list(library.store.ids()) == []


def test_watching_copies_what_changes_and_keeps_what_a_tool_deletes(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why?"))
    watch = ImportWatch([INTEGRATIONS["claude"]], library.store, home=home, environ={}, clock=later)
    assert [found.turns for found in watch.poll() if isinstance(found, Imported)] == [1]
    assert list(watch.poll()) == []
    write(home, said("b", "a", "It expires.", "assistant"))
    assert [found.turns for found in watch.poll() if isinstance(found, Imported)] == [1]
    os.unlink(home / PLACES["claude"])
    assert list(watch.poll()) == []
    assert contents(library) == ["Why?", "It expires."]


def test_a_session_in_use_costs_only_itself_and_is_tried_again(home: Path, library: Library) -> None:
    write(home, said("a", None, "Why?"))
    library.create(id=f"claude-{CLAUDE}").close()
    move_in(home, "pi")
    histories = [INTEGRATIONS["claude"], INTEGRATIONS["pi"]]
    watch = ImportWatch(histories, library.store, home=home, environ={}, clock=later)
    assert [type(found) for found in watch.poll()] == [FailedImport, Imported]
    assert [type(found) for found in watch.poll()] == [FailedImport]


def test_a_database_that_is_none_is_reported_and_costs_only_itself(home: Path, library: Library) -> None:
    move_in(home, "opencode", "pi")
    (home / PLACES["opencode"]).write_bytes(b"no database" * 100)
    watch = ImportWatch(INTEGRATIONS.values(), library.store, home=home, environ={}, clock=later)
    failed, imported = watch.poll()
    assert isinstance(failed, FailedImport)
    assert "file is not a database" in str(failed.error)
    assert (imported.tool, failed.native_id) == ("pi", "")


def test_a_long_session_is_copied_in_pieces(home: Path, library: Library) -> None:
    turns = [said(str(n), str(n - 1) if n else None, f"{n}", "assistant" if n % 2 else "user") for n in range(1200)]
    write(home, *turns)
    assert copy("claude", home, library).turns == 1200
    assert contents(library) == [str(n) for n in range(1200)]
    assert sum(isinstance(event, Turn) for event in library.store.read(f"claude-{CLAUDE}")) == 1200
