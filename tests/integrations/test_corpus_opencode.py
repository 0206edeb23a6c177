"""The sessions that opencode wrote: every word of them, by the one who said it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS
from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.parts import has_part
from segue.integrations.registry import integration_sources
from segue.library import open as open_url
from segue.transfer.import_sessions import ImportWatch
from segue.transfer.in_place import InPlaceStore
from tests.support.corpus_events import HOMES, ReadSession, read_corpus
from tests.support.integration_homes import later, read, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library
    from segue.model import Turn

DATABASE = ".local/share/opencode/opencode.db"
IMAGE_START = "iVBORw0KGgo"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> ReadSession:
    return next(read_corpus("opencode", tmp_path_factory.mktemp("homes")))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return shutil.copytree(HOMES / "opencode-events", tmp_path / "home")


def said(turns: list[Turn], role: str) -> list[str]:
    return [turn.content for turn in turns if turn.role == role]


def change(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / DATABASE)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def test_what_the_user_said_is_what_the_user_typed_in_this_order(events: ReadSession) -> None:
    assert said(events.active, "user") == [
        "#P1# see @note.txt please",
        "!echo from-bang; exit 2",
        "Please do the custom thing with #P2# bar and be brief.",
        "#P3# TOOL @pic.png ",
        "/mysub\n\nPlease look into #P8# zwei as a task.",
        "#P4# HOLD this",
        "#P5# and please remember the word STEERING",
        "#P6# after the interruption",
    ]


def test_attached_files_and_images_are_parts(events: ReadSession) -> None:
    asked = {turn.content[:4]: turn for turn in events.active if turn.role == "user"}
    (file,), (image,) = asked["#P1#"].parts, asked["#P3#"].parts
    assert file["path"] == "/home/people/e/o3/proj/note.txt"
    assert "SECRETWORD alpha" in str(file["content"])
    assert (image["type"], image["media_type"]) == ("image", "image/png")
    assert str(image["data"]).startswith(IMAGE_START)
    assert IMAGE_START not in json.dumps([turn.native for turn in events.active])


def test_a_command_of_the_user_has_its_output_as_a_result(events: ReadSession) -> None:
    number = next(number for number, turn in enumerate(events.active) if turn.content.startswith("!"))
    typed, output = events.active[number : number + 2]
    assert typed.parts[0]["arguments"] == {"command": "echo from-bang; exit 2"}
    assert (output.role, output.content) == ("tool", "from-bang\n")
    assert output.parts[0]["id"] == typed.parts[0]["id"]


def test_a_compaction_is_a_summary_and_erases_nothing(events: ReadSession) -> None:
    (number,) = [number for number, turn in enumerate(events.active) if has_part(turn, "summary")]
    summary = events.active[number]
    assert (summary.role, summary.content) == ("system", "A summary: the note says SECRETWORD alpha.")
    assert events.active[0].content == "#P1# see @note.txt please"
    assert events.active[number + 1].content == "#P4# HOLD this"


def test_an_interrupted_answer_is_partial_and_nothing_else_is(events: ReadSession) -> None:
    assert [entry.turn.content for entry in events.entries if entry.turn.partial] == ["I begin, and"]


def test_undone_turns_are_a_branch_and_a_task_is_a_branch_of_its_call(events: ReadSession) -> None:
    undone, answer, task, result = events.others
    assert [turn.content for turn in (undone, answer)] == ["#P7# to be undone", "You said: #P7# to be undone"]
    by_id = {entry.turn.id: entry for entry in events.entries}
    assert by_id[undone.id].is_undone
    assert by_id[task.id].side.startswith("agent-")
    called = by_id[by_id[task.id].after].turn
    assert called.parts[0]["name"] == "task"
    assert (task.content, by_id[result.id].after) == ("Please look into #P8# zwei as a task.", task.id)


def test_nothing_that_opencode_told_the_model_is_said_by_anyone(events: ReadSession) -> None:
    words = "\n".join(said(events.active, "user"))
    assert "Summarize the task" not in words
    assert "executed by the user" not in words
    assert "Called the Read" not in words
    handed = outgoing_messages(events.active, now=later())
    assert not any("SECRETWORD" in message.text for message in handed if message.role == "user")


def test_only_the_first_prompt_is_active_if_the_second_was_undone(tmp_path: Path) -> None:
    home = shutil.copytree(HOMES / "opencode-undo-pending", tmp_path / "home")
    (session,) = sessions("opencode", home)
    store = InPlaceStore(INTEGRATIONS["opencode"], session)
    shown = store.load(store.id)
    assert shown.branch == "main"
    assert [turn.content for turn in shown.turns if turn.role == "user"] == ["#P1# keep this [[par]]"]
    (source,) = integration_sources(home, {})
    assert source.read(session.id).head.turn_count == len(shown.turns) == 6


def test_subagents_images_failures_and_usage_of_a_long_session(tmp_path: Path) -> None:
    home = shutil.copytree(HOMES / "opencode-tools-subagent-image", tmp_path / "home")
    listed = sessions("opencode", home)
    assert [session.id for session in listed] == ["ses_e201fcca3ffe3Xm6o4ojwltixJ", "ses_e201245f6fffsegue055fae313"]
    builder, entries = read("opencode", home, 0)
    assert builder.damages == []
    (side,) = [entry for entry in entries if entry.side]
    assert side.turn.content == "#P6sub# sub agent: [[big]]"
    turns = [entry.turn for entry in entries]
    (asked,) = [turn for turn in turns if "#P10#" in turn.content and turn.role == "user"]
    assert [part["type"] for part in asked.parts] == ["image"]
    (shown,) = [part for turn in turns for part in turn.parts if part.get("images")]
    assert str(shown["images"][0]["data"]).startswith(IMAGE_START)  # type: ignore[index]  # a list of images
    (failed,) = [part for turn in turns for part in turn.parts if part.get("is_error")]
    assert failed["content"] == "File not found: /no/such/file.txt"
    first = next(turn for turn in turns if turn.role == "assistant")
    assert first.extra["usage"] == {
        "input_tokens": 1082,
        "cached_tokens": 0,
        "cache_written_tokens": 0,
        "output_tokens": 42,
        "reasoning_tokens": 0,
        "cost_usd": 0.001166,
    }
    truth = json.loads((HOMES / "truth" / "opencode-tools.json").read_text(encoding="utf-8"))
    words = [item["t"] for item in truth if item["k"] == "user" and "#P" in item["t"]]
    assert [turn.content for turn in turns if turn.role == "user" and not turn.content.startswith("#P6sub")] == words
    results = [item["t"] for item in truth if item["k"] == "result"]
    of_parent = [entry.turn for entry in entries[: entries.index(side)] if entry.turn.role == "tool"]
    assert [turn.content for turn in of_parent] == results


# ── What changes while it is watched ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def library() -> Library:
    return open_url("memory:")


def poll(watch: ImportWatch) -> int:
    """Import what is new; the number of turns."""
    return sum(found.turns for found in watch.poll() if hasattr(found, "turns"))


def watch(home: Path, library: Library) -> ImportWatch:
    return ImportWatch([INTEGRATIONS["opencode"]], library.store, home=home, environ={}, clock=later)


def test_what_opencode_adds_to_a_message_later_makes_no_branch(home: Path, library: Library) -> None:
    of_users = "WHERE json_extract(data, '$.role') = 'user'"
    change(home, f"UPDATE message SET data = json_remove(data, '$.summary') {of_users}")  # noqa: S608
    watching = watch(home, library)
    assert poll(watching) > 20
    (id,) = library.store.ids()
    before = library.load(id)
    diffs = """json('{"diffs":[{"file":"a","patch":"+b"}]}')"""
    change(
        home,
        f"UPDATE message SET data = json_set(data, '$.summary', {diffs}) {of_users}",  # noqa: S608
        "UPDATE part SET data = json_set(data, '$.state.time.compacted', 1) WHERE data LIKE '%\"type\":\"tool\"%'",
        "UPDATE session SET time_updated = time_updated + 1",
    )
    assert poll(watching) == 0
    assert set(library.load(id).branches) == set(before.branches)


def test_an_answer_that_is_being_written_makes_no_branch_when_it_is_complete(home: Path, library: Library) -> None:
    change(home, "UPDATE session SET revert = NULL")
    with closing(sqlite3.connect(home / DATABASE)) as database:
        query = "SELECT m.id, m.data, p.id, p.data FROM message AS m JOIN part AS p ON p.message_id = m.id"
        found = database.execute(f"{query} WHERE p.data LIKE '%You said: #P7#%'").fetchone()
        message, info, part, text = (str(value) for value in found)
        database.execute("UPDATE message SET data = json_remove(data, '$.time.completed') WHERE id = ?", (message,))
        database.execute("UPDATE part SET data = json_set(data, '$.text', 'You said: ') WHERE id = ?", (part,))
        database.commit()
    watching = watch(home, library)
    assert poll(watching)
    (id,) = library.store.ids()
    before = library.load(id)
    assert before.turns[-1].partial
    with closing(sqlite3.connect(home / DATABASE)) as database:
        database.execute("UPDATE message SET data = ?, time_updated = 9 WHERE id = ?", (info, message))
        database.execute("UPDATE part SET data = ? WHERE id = ?", (text, part))
        database.commit()
    assert poll(watching) == 1
    after = library.load(id)
    assert set(after.branches) == set(before.branches)
    assert "".join(turn.content for turn in after.turns[-2:]) == "You said: #P7# to be undone"


def test_undo_redo_and_another_prompt_are_followed(home: Path, library: Library) -> None:
    def active() -> list[str]:
        found = library.load(next(iter(library.store.ids())))
        return [turn.content for turn in found.turns if turn.role == "user"]

    with closing(sqlite3.connect(home / DATABASE)) as database:
        revert = str(database.execute("SELECT revert FROM session WHERE revert IS NOT NULL").fetchone()[0])
    undone = json.loads(revert)["messageID"]
    change(home, "UPDATE session SET revert = NULL")
    watching = watch(home, library)
    assert poll(watching)
    assert active()[-1] == "#P7# to be undone"
    change(home, f"UPDATE session SET revert = '{revert}' WHERE parent_id IS NULL")  # noqa: S608
    assert poll(watching) == 0
    assert active()[-1] == "#P6# after the interruption"
    change(home, "UPDATE session SET revert = NULL")
    assert poll(watching) == 0
    assert active()[-1] == "#P7# to be undone"
    change(home, f"UPDATE session SET revert = '{revert}' WHERE parent_id IS NULL")  # noqa: S608
    assert poll(watching) == 0
    change(
        home,
        f"DELETE FROM message WHERE id >= '{undone}'",  # noqa: S608
        "UPDATE session SET revert = NULL",
        "INSERT INTO message SELECT 'msg_9', session_id, 2000000000000, 1, data FROM message ORDER BY id LIMIT 1",
        """INSERT INTO part SELECT 'prt_9', 'msg_9', session_id, 1, 1, '{"type":"text","text":"instead"}'
           FROM message WHERE id = 'msg_9'""",
    )
    assert poll(watching) == 1
    assert active()[-2:] == ["#P6# after the interruption", "instead"]
    names = set(library.load(next(iter(library.store.ids()))).branches)
    assert len([name for name in names if not name.startswith("agent-")]) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE session SET title = 'Another'",
        "UPDATE session SET revert = NULL",
        "UPDATE event_sequence SET seq = seq + 1 WHERE aggregate_id = (SELECT id FROM session WHERE parent_id > '')",
        "INSERT INTO message SELECT 'msg_9', id, 2000000000000, 1, '{}' FROM session WHERE parent_id > ''",
        "UPDATE message SET time_updated = 9 WHERE id = (SELECT max(id) FROM message)",
        "UPDATE part SET time_updated = 9 WHERE message_id = (SELECT max(id) FROM message)",
    ],
)
def test_a_session_changes_with_its_messages_and_with_those_of_its_subagents(statement: str, home: Path) -> None:
    (before,) = sessions("opencode", home)
    change(home, statement)
    (after,) = sessions("opencode", home)
    assert after.revision != before.revision


# ── What is rare ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_sessions_that_start_one_another_are_read_once_and_lost_ones_are_listed(home: Path) -> None:
    before = sorted(entry.turn.content for entry in read("opencode", home)[1])
    change(home, "UPDATE session SET parent_id = (SELECT max(id) FROM session AS s WHERE s.id <> session.id)")
    assert len(sessions("opencode", home)) == 1
    _, entries = read("opencode", home)
    assert len(entries) == len({entry.turn.id for entry in entries})
    assert sorted(entry.turn.content for entry in entries) == before
    change(home, "UPDATE session SET parent_id = 'ses_gone'")
    assert len(sessions("opencode", home)) == 2


def test_a_large_session_is_listed_from_its_ends_and_read_with_little_memory(home: Path) -> None:
    text = json.dumps({"type": "text", "text": "x" * 1000})
    (session,) = sessions("opencode", home)
    change(
        home,
        f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
            INSERT INTO message SELECT 'msg_2' || (1000 + i), '{session.id}', 1794827700000 + i, 1,
            '{{"role":"user","time":{{"created":1794827700000}}}}' FROM n""",  # noqa: S608
        f"INSERT INTO part SELECT 'prt_2' || id, id, session_id, 1, 1, '{text}' FROM message WHERE id LIKE 'msg_2%'",  # noqa: S608
    )
    (session,) = sessions("opencode", home)
    builder, turns = INTEGRATIONS["opencode"].preview(session)
    found = [entry.turn for entry in turns]
    assert builder.is_partial
    assert len(found) < 60
    assert found[-1].content == "You said: #P7# to be undone"
    assert builder.tip == next(turn.id for turn in found if turn.content == "You said: #P6# after the interruption")
    change(home, "UPDATE session SET revert = json_set(revert, '$.messageID', 'msg_21200') WHERE parent_id IS NULL")
    builder, turns = INTEGRATIONS["opencode"].preview(sessions("opencode", home)[0])
    kept = [entry.turn.id for entry in turns]
    assert kept.index(builder.tip) < len(kept) - 20
    _, whole = read("opencode", home)
    assert len(whole) > 400


def test_the_database_that_the_user_names_and_those_of_other_channels_are_read(home: Path) -> None:
    folder = (home / DATABASE).parent
    (folder / "opencode.db").rename(folder / "opencode-beta-1.db")
    assert len(sessions("opencode", home)) == 1
    (folder / "opencode-beta-1.db").rename(home / "mine.db")
    assert sessions("opencode", home) == []
    for named in (str(home / "mine.db"), "../../../mine.db"):
        assert len(list(INTEGRATIONS["opencode"].sessions(home, {"OPENCODE_DB": named}))) == 1
    assert list(INTEGRATIONS["opencode"].sessions(home, {"OPENCODE_DB": ":memory:"})) == []


def test_parts_of_an_unknown_type_are_named_once(home: Path) -> None:
    change(
        home,
        """UPDATE part SET data = '{"type":"speech","words":"x"}' WHERE data LIKE '%"patch"%' OR id IN
                    (SELECT id FROM part WHERE data LIKE '%step-start%')""",
    )
    builder, _ = read("opencode", home)
    assert [damage.reason for damage in builder.damages] == ["parts of the unknown type 'speech' are not read"]


def test_messages_of_another_kind_are_reported(home: Path) -> None:
    change(
        home,
        """INSERT INTO session_message SELECT id, session_id, 'user', rowid, 1, 1, '{}' FROM message""",
        "DELETE FROM message",
    )
    builder, entries = read("opencode", home)
    assert entries == []
    assert "session_message" in builder.damages[0].reason


def test_a_call_that_has_not_ended_has_no_result(home: Path) -> None:
    change(
        home, "UPDATE part SET data = json_set(data, '$.state.status', 'running') WHERE data LIKE '%call_loopback_1%'"
    )
    _, entries = read("opencode", home)
    calls = [part["id"] for entry in entries for part in entry.turn.parts if part["type"] == "tool_call"]
    results = [part["id"] for entry in entries for part in entry.turn.parts if part["type"] == "tool_result"]
    assert set(calls) - set(results) == {"call_loopback_1"}


def test_the_files_of_older_releases_are_read_where_there_is_no_database(home: Path, tmp_path: Path) -> None:
    before, entries = read("opencode", home)
    storage = tmp_path / "old" / ".local/share/opencode/storage"
    with closing(sqlite3.connect(home / DATABASE)) as database:
        for id, parent, title, folder, revert in database.execute(
            "SELECT id, parent_id, title, directory, revert FROM session"
        ):
            info = {"id": id, "title": title, "directory": folder, "revert": json.loads(revert or "null")}
            put(storage / "session" / "global" / id, {**info, **({"parentID": parent} if parent else {})})
        for id, session, data in database.execute("SELECT id, session_id, data FROM message"):
            put(storage / "message" / session / id, json.loads(data))
        for id, message, data in database.execute("SELECT id, message_id, data FROM part"):
            put(storage / "part" / message / id, json.loads(data))
    (session,) = sessions("opencode", tmp_path / "old")
    after, found = read("opencode", tmp_path / "old")
    assert (after.damages, after.cwd, after.title, after.tip) == ([], before.cwd, before.title, before.tip)
    assert [(entry.turn.id, entry.turn.content, entry.after, entry.side) for entry in found] == [
        (entry.turn.id, entry.turn.content, entry.after, entry.side) for entry in entries
    ]
    next(storage.glob("message/*/*.json")).write_text("{", encoding="utf-8")
    (changed,) = sessions("opencode", tmp_path / "old")
    assert changed.revision != session.revision
    assert len(read("opencode", tmp_path / "old")[0].damages) >= 1
    shutil.copyfile(home / DATABASE, storage.parent / "opencode.db")
    assert [one.path for one in sessions("opencode", tmp_path / "old")] == [str(storage.parent / "opencode.db")]


def put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.json").write_text(json.dumps(value), encoding="utf-8")
