"""The files of an AI tool that come from someone else: one test for all integrations, and for those to come."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from segue.errors import SegueError
from segue.integrations import INTEGRATIONS
from segue.integrations.format.limits import VALUES
from segue.integrations.shared.subagents import descendants, find_tops
from tests.cli.test_hostile import ALL, obeyed
from tests.support.cli import Segue
from tests.support.home_texts import change_values
from tests.support.integration_homes import move_in, place_of, sessions

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from segue.model import Turn
    from tests.support.home_texts import Change

SAMPLE = 12
_WORD = re.compile(r"[A-Za-z_./:-]{0,40}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT.*")
_PARENT = re.compile(r"parent.*id|parent|callingSessionId", re.IGNORECASE)


def read_turns(tool: str, home: Path) -> list[Turn]:
    """All turns of all sessions, as far as they can be read: only errors that say why are expected."""
    turns: list[Turn] = []
    try:
        for session in sessions(tool, home):
            turns += (entry.turn for entry in INTEGRATIONS[tool].read(session).turns)
    except SegueError as error:
        assert str(error)  # noqa: PT017 - most can be read
    return turns


def with_controls(_: str, value: object) -> object:
    """Every text but the words by which the formats are read, with all that a terminal would obey."""
    if not isinstance(value, str) or _WORD.fullmatch(value) or _MOMENT.fullmatch(value):
        return value
    return f"{value} {ALL}"


@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_no_text_of_a_tool_reaches_a_terminal_as_a_command(tool: str, tmp_path: Path) -> None:
    cli = Segue(tmp_path)
    move_in(cli.home, tool)
    change_values(cli.home, with_controls)
    ids = [session.id for session in sessions(tool, cli.home)]
    calls = [("list",), ("list", "--json"), ("tools",), ("search", "cleared"), ("import", tool, "--all", "--dry-run")]
    calls += [(verb, id) for id in ids[:1] for verb in ("show", "tree", "branches")]
    for call in (*calls, ("import", tool, "--all"), ("list",)):
        result = cli.call(*call, SEGUE_STORE="")
        assert obeyed(result.out + result.err) == [], call
        assert b"Traceback" not in result.err


ODD_VALUES: dict[str, Change] = {
    "huge numbers": lambda _, value: 10**400 if is_number(value) else value,
    "infinite numbers": lambda _, value: 1e308 * 10 if is_number(value) else value,
    "negative numbers": lambda _, value: -1 if is_number(value) else value,
    "numbers for texts": lambda _, value: 10**400 if isinstance(value, str) and not _WORD.fullmatch(value) else value,
    "lists for texts": lambda _, value: [[value]] if isinstance(value, str) and not _WORD.fullmatch(value) else value,
    "lists for words": lambda _, value: (
        [{"type": value}] if isinstance(value, str) and _WORD.fullmatch(value) else value
    ),
    "nothing": lambda _, value: None if isinstance(value, str) and not _WORD.fullmatch(value) else value,
    "long texts": lambda _, value: value * 50 if isinstance(value, str) and not _WORD.fullmatch(value) else value,
    "the same id": lambda name, value: "same" if name.lower() in {"id", "uuid", "message_id"} else value,
}


def replacing(is_meant: Callable[[str], bool], new: object) -> Change:
    """Another value in the place of all whose names are meant."""
    return lambda name, value: new if is_meant(name) else value


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.parametrize("kind", ODD_VALUES)
@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_odd_values_are_read_or_reported(tool: str, kind: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    change_values(tmp_path, ODD_VALUES[kind])
    read_turns(tool, tmp_path)


@pytest.mark.parametrize("count", [SAMPLE, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_any_one_field_may_have_any_type(tool: str, count: int, tmp_path: Path, rng: random.Random) -> None:
    move_in(tmp_path, tool)
    names: set[str] = set()

    def note(name: str, value: object) -> object:
        names.add(name)
        return value

    change_values(tmp_path, note)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    odd_values: list[object] = [[{"type": "x"}], {"x": []}, 10**400, True]
    cases = [(wanted, odd) for wanted in sorted(names) for odd in odd_values]
    for wanted, odd in rng.sample(cases, min(count, len(cases))):
        change_values(tmp_path, replacing(wanted.__eq__, odd))
        read_turns(tool, tmp_path)
        for path, data in files.items():
            path.write_bytes(data)


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "user", "human", "model"])
@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_words_of_an_unknown_role_are_not_the_words_of_the_user(tool: str, role: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    before = {turn.content for turn in read_turns(tool, tmp_path) if turn.role == "user"}
    change_values(tmp_path, lambda name, value: "oracle" if name in {"role", "type"} and value == role else value)
    after = {turn.content for turn in read_turns(tool, tmp_path) if turn.role == "user"}
    assert after <= before


@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_sessions_and_records_that_are_their_own_parents_are_still_read(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    before = {turn.content for turn in read_turns(tool, tmp_path)}
    ids = [session.id for session in sessions(tool, tmp_path)]
    for parent in (*ids, "nobody"):
        change_values(tmp_path, replacing(lambda name: _PARENT.fullmatch(name) is not None, parent))
        assert {turn.content for turn in read_turns(tool, tmp_path)} >= before - {""}


@pytest.mark.parametrize(("tool", "place"), [("opencode", "part SET data"), ("crush", "messages SET parts")])
def test_a_column_with_too_many_values_is_not_parsed(tool: str, place: str, tmp_path: Path) -> None:
    """A few bytes each in the database, and a hundred in memory."""
    move_in(tmp_path, tool)
    with closing(sqlite3.connect(place_of(tool, tmp_path))) as database:
        database.execute(f"UPDATE {place} = ?", (f"[{'[],' * VALUES}0]",))
        database.commit()
    builder, turns = INTEGRATIONS[tool].read(sessions(tool, tmp_path)[0])
    assert [turn for turn in turns if turn.turn.content] == []
    assert f"{VALUES:,} values" in builder.damages[0].reason


@pytest.mark.parametrize("tool", ["claude", "gemini", "pi", "qwen", "copilot", "kimi", "droid", "vscode"])
def test_turns_whose_ids_begin_alike_are_all_read(tool: str, tmp_path: Path) -> None:
    """However long the ids are: what follows the first characters counts too."""
    move_in(tmp_path, tool)
    before = {turn.id: turn.content for turn in read_turns(tool, tmp_path)}
    change_values(tmp_path, with_long_ids)
    after = {turn.id: turn.content for turn in read_turns(tool, tmp_path)}
    assert sorted(after.values()) == sorted(before.values())


def with_long_ids(name: str, value: object) -> object:
    is_id = name in {"id", "uuid", "parentUuid", "parentId", "messageId", "requestId", "message_id"}
    return f"{'x' * 300}{value}" if is_id and isinstance(value, str) else value


BESIDE = {"crush": ".local/share/crush/projects.json", "codex": ".codex/session_index.jsonl"}
"""Files about all sessions of a tool that the corpus does not have."""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("tool", INTEGRATIONS)
def test_a_pipe_in_the_place_of_any_file_blocks_nothing(tool: str, tmp_path: Path) -> None:
    move_in(tmp_path, tool)
    before = {turn.content for turn in read_turns(tool, tmp_path)}
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        kept = path.rename(path.with_name("kept"))
        os.mkfifo(path)
        read_turns(tool, tmp_path)
        kept.replace(path)
    if tool in BESIDE:
        beside = tmp_path / BESIDE[tool]
        beside.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(beside)
    assert {turn.content for turn in read_turns(tool, tmp_path)} == before


def test_who_started_whom_is_found_in_one_walk_and_has_an_end() -> None:
    """Walking up from each of these by itself would take five thousand million steps."""
    chain = {str(number): str(number - 1) for number in range(100_000)}
    assert set(find_tops(chain).values()) == {"0"}
    assert len(list(descendants("0", lambda one: [str(int(one) + 1)] if int(one) < 99_999 else []))) == 99_999
    circle = {"b": "a", "a": "c", "c": "b", "below": "c", "self": "self", "orphan": "gone", "top": ""}
    assert find_tops(circle) == {
        **dict.fromkeys(("a", "b", "c", "below"), "a"), "self": "self", "orphan": "orphan", "top": "top",
    }  # fmt: skip


@pytest.mark.parametrize("parents", [{}, {"b": "a", "c": "b"}, {"a": "c", "b": "a", "c": "b"}, {"a": "a"}, {"b": "x"}])
@pytest.mark.parametrize("tool", ["opencode", "droid", "crush", "zed"])
def test_no_session_disappears_whatever_it_says_who_started_it(
    tool: str, parents: dict[str, str], tmp_path: Path
) -> None:
    START[tool](tmp_path, [(id, parents.get(id, "")) for id in "abc"])
    turns = [turn.content for turn in read_turns(tool, tmp_path)]
    assert sorted(turns) == ["said in a", "said in b", "said in c"]


def start_in_droid(home: Path, sessions: list[tuple[str, str]]) -> None:
    folder = home / ".factory/sessions/-p"
    folder.mkdir(parents=True)
    for id, parent in sessions:
        said = {"role": "user", "content": [{"type": "text", "text": f"said in {id}"}]}
        records = [
            {"type": "session_start", "id": id, "callingSessionId": parent, "cwd": "/p"},
            {"type": "message", "id": "1", "timestamp": "2026-01-01T00:00:00Z", "message": said},
        ]
        (folder / f"{id}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def start_in_database(tool: str, delete: str, *insert: str) -> Callable[[Path, list[tuple[str, str]]], None]:
    def start(home: Path, sessions: list[tuple[str, str]]) -> None:
        move_in(home, tool)
        with closing(sqlite3.connect(place_of(tool, home))) as database:
            database.executescript(delete)
            for id, parent in sessions:
                for statement in insert:
                    database.execute(statement, {"id": id, "parent": parent or None, "said": f"said in {id}"})
            database.commit()

    return start


START = {
    "droid": start_in_droid,
    "opencode": start_in_database(
        "opencode",
        "DELETE FROM session; DELETE FROM message; DELETE FROM part;"
        "CREATE TABLE made (id, parent_id, title, time_updated, directory); DROP TABLE session;"
        "ALTER TABLE made RENAME TO session",
        "INSERT INTO session VALUES (:id, :parent, 'title', 1, '/p')",
        "INSERT INTO message (id, session_id, time_created, time_updated, data) "
        """VALUES ('msg_' || :id, :id, 1, 1, '{"role":"user","time":{"created":1}}')""",
        "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) "
        "VALUES (:id, 'msg_' || :id, :id, 1, 1, json_object('type', 'text', 'text', :said))",
    ),
    "crush": start_in_database(
        "crush",
        "DELETE FROM sessions; DELETE FROM messages",
        "INSERT INTO sessions (id, parent_session_id, title, updated_at, created_at) VALUES (:id, :parent, 'x', 1, 1)",
        "INSERT INTO messages (id, session_id, role, created_at, updated_at, parts) VALUES (:id, :id, 'user', 1, 1, "
        "json_array(json_object('type', 'text', 'data', json_object('text', :said))))",
    ),
    "zed": start_in_database(
        "zed",
        "DELETE FROM threads",
        "INSERT INTO threads (id, parent_id, summary, updated_at, data_type, data) VALUES (:id, :parent, 'x', "
        "'2026-01-01T00:00:00Z', 'json', json_object('messages', json_array(json_object('role', 'user', 'segments', "
        "json_array(json_object('type', 'text', 'text', :said))))))",
    ),
}
