"""What users see of a transcript: turns, branches, sessions of subagents, titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

import segue
from segue.bridges.claude_agent_sdk import SegueSessionStore
from segue.model import Record
from tests.bridges.claude_agent_sdk.conversations import (
    IMAGE,
    KEY,
    SUBAGENT,
    Conversation,
    append,
    call,
    load,
    text,
    thought,
)

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library
    from segue.model import Session
    from tests.bridges.claude_agent_sdk.conversations import Entry


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return segue.open(f"journal:{tmp_path}")


@pytest.fixture
def store(library: Library) -> SegueSessionStore:
    return SegueSessionStore(library)


@pytest.fixture
def made() -> Conversation:
    return Conversation()


def only(library: Library) -> Session:
    (head,) = library.list(agent="claude-agent-sdk")
    return library.load(head.id)


def said(session: Session) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in session.turns]


def one_by_one(library: Library, entries: list[Entry]) -> None:
    """As with `session_store_flush="eager"`, and by a process that knows nothing each time."""
    for entry in entries:
        append(SegueSessionStore(library), [entry])


def test_messages_are_turns_with_model_tokens_and_the_entries_and_the_rest_are_records(
    library: Library, store: SegueSessionStore, made: Conversation
) -> None:
    made.note("queue-operation", operation="enqueue")
    made.say("Why?")
    made.add("attachment", attachment={"type": "date", "date": "today"})
    made.answer("m1", thought("hm"), text("Because."))
    append(store, made.entries)
    session = only(library)
    assert said(session) == [("user", "Why?"), ("assistant", "Because.")]
    answer = session.turns[1]
    assert (answer.model, answer.tokens, answer.tokens_by) == ("m-1", 7, "provider")
    assert answer.parts == ({"type": "reasoning", "text": "hm"},)
    assert answer.id == "claude:u3"
    assert answer.native is not None
    assert answer.native["records"] == made.entries[3:]
    records = [event for event in library.store.read(session.id) if isinstance(event, Record)]
    assert [event.kind for event in records] == ["claude-entry", "claude-entry", "transcript"]
    assert session.extra["tool"] == "claude-agent-sdk"
    assert session.extra["name"] == "s"


def test_parallel_calls_and_their_results_are_one_branch(library: Library, made: Conversation) -> None:
    made.say("Look.")
    first, second = made.answer("m1", call("c1", command="ls"), call("c2", command="pwd"))
    made.result("c1", "a b", parent=first)
    made.result("c2", "/tmp", parent=second)
    made.answer("m2", text("Done."))
    for entries in ([made.entries], [[entry] for entry in made.entries]):
        for batch in entries:
            append(SegueSessionStore(library), batch)
        session = only(library)
        assert list(session.branches) == ["main"]
        assert [(turn.role, turn.content) for turn in session.turns if turn.role == "tool"] == [
            ("tool", "a b"),
            ("tool", "/tmp"),
        ]
        assert session.turns[-1].content == "Done."
        library.discard(session.id)


def test_an_answer_in_several_appends_counts_its_tokens_once(library: Library, made: Conversation) -> None:
    made.answer("m1", thought("hm"), tokens=2)
    made.answer("m1", text("So."), tokens=9)
    one_by_one(library, made.entries)
    turns = only(library).turns
    assert [turn.tokens for turn in turns] == [2, 7]
    assert [turn.extra["usage"] for turn in turns] == [
        {"input_tokens": 11, "output_tokens": 2},
        {"input_tokens": 0, "output_tokens": 7},
    ]


def test_going_back_is_a_branch_and_it_is_the_active_one(library: Library, made: Conversation) -> None:
    made.say("one")
    (first,) = made.answer("m1", text("1"))
    made.say("two")
    (second,) = made.answer("m2", text("2"))
    made.tip = first
    made.say("another two")
    made.answer("m3", text("zwei"))
    one_by_one(library, made.entries)
    session = only(library)
    assert [content for _, content in said(session)] == ["one", "1", "another two", "zwei"]
    assert [turn.content for turn in session.path("main")] == ["one", "1", "two", "2"]
    made.tip = second
    made.say("three")
    append(SegueSessionStore(library), made.entries[-1:])
    assert only(library).branch == "main"
    assert load(SegueSessionStore(library)) == made.entries


def test_two_programs_that_begin_a_session_at_the_same_time_have_a_branch_each(
    library: Library, store: SegueSessionStore
) -> None:
    programs = [Conversation(prefix=name) for name in ("a", "b")]
    for number in range(3):
        for program in programs:
            program.say(f"{program.tip} {number}")
            append(store, program.entries[-1:])
    session = only(library)
    assert [len(session.path(name)) for name in session.branches] == [3, 3]


def test_what_another_process_has_appended_is_known(library: Library, made: Conversation) -> None:
    stores = [SegueSessionStore(library) for _ in range(2)]
    for number in range(8):
        made.say(f"{number}")
        append(stores[number % 2], made.entries[-3:])
    assert load(stores[0]) == made.entries
    assert [content for _, content in said(only(library))] == [f"{number}" for number in range(8)]


def test_messages_without_a_parent_follow_one_another(library: Library) -> None:
    one_by_one(library, [{"type": "user", "uuid": f"u{at}", "message": {"content": f"{at}"}} for at in range(3)])
    one_by_one(library, [{"type": "user", "message": {"content": f"{at}"}} for at in range(3, 6)])
    session = only(library)
    assert [content for _, content in said(session)] == ["0", "1", "2", "3", "4", "5"]
    assert list(session.branches) == ["main"]


def test_very_many_beginnings_do_not_become_very_many_branches(library: Library, store: SegueSessionStore) -> None:
    entries: list[Entry] = [
        {"type": "user", "uuid": f"u{at}", "parentUuid": None, "message": {"content": f"{at}"}} for at in range(300)
    ]
    append(store, entries)
    assert len(only(library).branches) == 200
    assert load(store) == entries


def test_a_message_of_two_turns_is_followed_by_what_follows_its_second(library: Library, made: Conversation) -> None:
    (asked,) = made.answer("m1", call("c1", command="ls"))
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a b"}
    made.add("user", parent=asked, message={"content": [result, text("Stop.")]}, origin={"kind": "human"})
    made.answer("m2", text("Stopped."))
    one_by_one(library, made.entries)
    session = only(library)
    assert said(session)[1:] == [("tool", "a b"), ("user", "Stop."), ("assistant", "Stopped.")]
    assert list(session.branches) == ["main"]
    assert load(SegueSessionStore(library)) == made.entries


def test_a_long_uuid_that_is_in_the_text_is_known(library: Library) -> None:
    uuid = "u" * 150
    entries: list[Entry] = [{"type": "user", "uuid": uuid, "parentUuid": None, "message": {"content": f"{uuid}!"}}]
    for _ in range(2):
        append(SegueSessionStore(library), entries)
    assert load(SegueSessionStore(library)) == entries


def test_an_image_is_a_blob_and_is_not_stored_as_text(library: Library, made: Conversation, tmp_path: Path) -> None:
    made.say([text("Look."), IMAGE])
    append(SegueSessionStore(library), made.entries)
    (part,) = only(library).turns[0].parts
    assert str(part["hash"]).startswith("sha256:")
    (file,) = tmp_path.glob("*.jsonl")
    assert IMAGE["source"]["data"] not in file.read_text()  # type: ignore[index]
    assert load(SegueSessionStore(library)) == made.entries


def test_a_subagent_has_a_session_of_its_own_with_the_other_one_as_a_tag(
    library: Library, store: SegueSessionStore, made: Conversation
) -> None:
    made.say("Send somebody.")
    append(store, made.entries)
    sent = Conversation(prefix="a", is_sidechain=True)
    sent.note("agent_metadata", agentType="general-purpose", description="look around")
    sent.say("Look around.")
    sent.answer("m1", text("Nothing here."))
    append(store, sent.entries, SUBAGENT)
    main, subagent = (library.load(one["id"]) for one in _ids(library))
    assert main.title == "Send somebody."
    assert (subagent.title, subagent.tags) == ("look around", (main.id,))
    assert said(subagent) == [("user", "Look around."), ("assistant", "Nothing here.")]
    assert list(subagent.branches) == ["main"]
    assert load(store, SUBAGENT) == sent.entries
    assert anyio.run(store.list_subkeys, KEY) == ["subagents/agent-1"]

    anyio.run(store.delete, KEY)
    assert library.list() == []
    assert {one.head.id for one in library.trashed()} == {main.id, subagent.id}


def _ids(library: Library) -> list[dict[str, str]]:
    return [{"id": head.id} for head in sorted(library.list(), key=lambda head: head.created_at)]


def test_a_subagent_in_the_transcript_itself_is_a_branch_beside(
    library: Library, store: SegueSessionStore, made: Conversation
) -> None:
    made.say("Send somebody.")
    aside = {"isSidechain": True, "agentId": "a1", "message": {"content": "Look around."}}
    made.entries.append({"type": "user", "uuid": "x1", "parentUuid": None, **aside})
    made.answer("m1", text("Somebody is on the way."))
    append(store, made.entries)
    session = only(library)
    assert said(session) == [("user", "Send somebody."), ("assistant", "Somebody is on the way.")]
    assert [turn.content for turn in session.path("agent-a1")] == ["Look around."]


def test_the_title_is_what_the_tool_calls_it_until_a_user_renames_it(
    library: Library, store: SegueSessionStore, made: Conversation
) -> None:
    titles: list[str] = []
    made.note("mode", mode="normal")
    made.say("Why does\nlogin fail?")
    made.note("ai-title", aiTitle="Login")
    made.note("custom-title", customTitle="Login bug")
    made.note("ai-title", aiTitle="Later")
    for entry in made.entries:
        append(store, [entry])
        titles.append(only(library).title)
    assert titles == ["s", "Why does login fail?", "Login", "Login bug", "Login bug"]
    with library.open(only(library).id) as session:
        session.rename("Mine")
    append(store, [{"type": "custom-title", "customTitle": "Theirs"}])
    assert only(library).title == "Mine"


def test_a_repeated_entry_does_not_change_the_summary(store: SegueSessionStore) -> None:
    old: Entry = {"type": "custom-title", "uuid": "t1", "customTitle": "old"}
    append(store, [old])
    append(store, [{"type": "custom-title", "uuid": "t2", "customTitle": "new"}])
    append(store, [old, {"type": "mode"}])
    (summary,) = anyio.run(store.list_session_summaries, "p")
    assert summary["data"]["custom_title"] == "new"


def test_times_of_appends_are_strictly_ordered_over_all_sessions(store: SegueSessionStore) -> None:
    times: list[int] = []
    for number in range(6):
        append(store, [{"type": "x"}], {"project_key": "p", "session_id": f"s{number % 3}"})
        found = {one["session_id"]: one["mtime"] for one in anyio.run(store.list_sessions, "p")}
        times.append(found[f"s{number % 3}"])
    assert times == sorted(set(times))


def test_with_a_project_another_folder_finds_the_session(library: Library) -> None:
    store = SegueSessionStore(library, project="fleet")
    append(store, [{"type": "x"}], {"project_key": "-home-a", "session_id": "s"})
    assert load(store, {"project_key": "-home-b", "session_id": "s"}) == [{"type": "x"}]
    assert [one["session_id"] for one in anyio.run(store.list_sessions, "-home-c")] == ["s"]
    assert load(SegueSessionStore(library), {"project_key": "-home-a", "session_id": "s"}) == []


def test_turns_that_were_added_here_are_not_part_of_the_transcript(
    library: Library, store: SegueSessionStore, made: Conversation
) -> None:
    made.say("one")
    append(store, made.entries)
    with library.open(only(library).id) as session:
        session.add("user", "a remark")
    made.answer("m1", text("1"))
    append(store, made.entries)
    assert load(store) == made.entries
    assert [turn.content for turn in only(library).turns] == ["one", "a remark"]
    assert len(only(library).branches) == 2


def test_a_session_with_the_same_name_after_a_deletion_is_a_new_one(store: SegueSessionStore) -> None:
    for _ in range(2):
        append(store, [{"type": "x", "uuid": "u1"}])
        assert load(store) == [{"type": "x", "uuid": "u1"}]
        anyio.run(store.delete, KEY)
        assert load(store) == []
