from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Segue


def contents(cli: Segue, session: str) -> list[str]:
    return [turn.content for turn in cli.library.load(session).turns]


def lines(*turns: object) -> bytes:
    return b"".join(json.dumps(turn).encode() + b"\n" for turn in turns)


def test_a_turn_has_the_role_the_text_and_the_tokens_it_was_given(cli: Segue, session: str) -> None:
    assert cli.ok("add", session, "Is it so?", "--role", "assistant", "--tokens", "3") == ""
    turn = cli.library.load(session).turns[-1]
    assert (turn.role, turn.content, turn.tokens) == ("assistant", "Is it so?", 3)


def test_adding_changes_no_status(cli: Segue, session: str) -> None:
    cli.ok("complete", session)
    cli.ok("add", session, "one more thing")
    assert cli.library.store.head(session).status == "completed"


@pytest.mark.parametrize("args", [(), ("-",)])
def test_standard_input_is_the_text_without_its_last_newline(cli: Segue, session: str, args: tuple[str, ...]) -> None:
    cli.ok("add", session, *args, stdin="zwölf\n\nBoxkämpfer\n\n".encode())
    assert contents(cli, session)[-1] == "zwölf\n\nBoxkämpfer\n"


def test_text_wins_over_standard_input(cli: Segue, session: str) -> None:
    cli.ok("add", session, "text", stdin=b"input")
    assert contents(cli, session)[-1] == "text"


def test_input_that_is_not_utf8_is_refused_and_nothing_recorded(cli: Segue, session: str) -> None:
    before = cli.files()
    assert "not UTF-8" in cli.refuses(2, "add", session, stdin=b"caf\xe9")
    assert "not UTF-8" in cli.refuses(2, "add", session, b"caf\xe9")
    assert cli.files() == before


def test_nothing_to_record_is_a_mistake(cli: Segue, session: str) -> None:
    assert "empty" in cli.refuses(2, "add", session)


def test_at_a_terminal_without_text_it_says_so_instead_of_waiting(cli: Segue, session: str) -> None:
    result = cli.at_terminal("add", session).end()
    assert result.code == 2
    assert "no text to record" in result.text


def test_input_that_cannot_be_read_is_one_line(cli: Segue, session: str) -> None:
    with Path("/dev/null").open("wb") as unreadable:
        done = subprocess.run(
            [sys.executable, "-m", "segue", "add", session],
            stdin=unreadable,
            capture_output=True,
            check=False,
            env=cli.environment(),
        )
    assert done.returncode == 6
    assert done.stderr.startswith(b"segue: cannot read standard input: ")


def test_json_lines_are_recorded_with_all_they_say(cli: Segue, session: str) -> None:
    turn = {
        "role": "tool",
        "content": "",
        "tokens": 5,
        "timestamp": "2026-11-01T08:00:00Z",
        "id": "mine",
        "parts": [{"type": "tool_result", "text": "ok"}],
        "native": {"raw": [1, 2]},
        "colour": "blue",
    }
    cli.ok("add", session, "--jsonl", stdin=lines(turn) + b"\n")
    recorded = cli.library.load(session).turns[-1]
    assert (recorded.id, recorded.tokens, recorded.parts, recorded.native, recorded.extra) == (
        "mine",
        5,
        ({"type": "tool_result", "text": "ok"},),
        {"raw": [1, 2]},
        {"colour": "blue"},
    )
    assert recorded.timestamp.isoformat() == "2026-11-01T08:00:00+00:00"


def test_json_lines_with_ids_can_be_sent_twice(cli: Segue, session: str) -> None:
    sent = lines(*({"role": "user", "content": f"{n}", "id": f"t{n}", "timestamp": "2026-11-01"} for n in range(3)))
    cli.ok("add", session, "--jsonl", stdin=sent)
    cli.ok("add", session, "--jsonl", stdin=sent)
    assert contents(cli, session)[2:] == ["0", "1", "2"]


def test_many_json_lines_all_arrive_in_order(cli: Segue, session: str) -> None:
    cli.ok("add", session, "--jsonl", stdin=lines(*({"role": "user", "content": f"{n} " * 50} for n in range(2000))))
    assert contents(cli, session)[2:] == [f"{n} " * 50 for n in range(2000)]


def test_the_last_json_line_needs_no_newline(cli: Segue, session: str) -> None:
    cli.ok("add", session, "--jsonl", stdin=b'{"role":"user","content":"end"}')
    assert contents(cli, session)[-1] == "end"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{broken", "it is not JSON"),
        (b'{"role": "user"}', "it has no content"),
        (b'{"role": "nobody", "content": "x"}', "unknown role"),
        (b'{"role": "user", "content": 7}', "not a valid turn"),
        (b'{"role": "user", "content": "x", "tokens": -1}', "not a valid turn"),
        (b'{"role": "user", "content": "x", "timestamp": "soon"}', "is not a time"),
        (b'{"role": "user", "content": "x", "id": ""}', "an event id must be a text"),
        (b'{"type": "status", "status": "paused"}', "it is not a turn"),
        (b"[]", "not an object"),
        (b'"\xff"', "it is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_json_line_is_placed_and_those_before_it_stay(cli: Segue, session: str, bad: bytes, reason: str) -> None:
    good = lines({"role": "user", "content": "one"}, {"role": "user", "content": "two"})
    complaint = cli.refuses(2, "add", session, "--jsonl", stdin=good + bad + b"\n" + good)
    assert "line 3 of standard input" in complaint
    assert reason in complaint
    assert "2 turns are recorded and stay" in complaint
    assert contents(cli, session)[2:] == ["one", "two"]


def test_another_turn_under_a_recorded_id_is_a_conflict_with_its_line(cli: Segue, session: str) -> None:
    sent = lines({"role": "user", "content": "one", "id": "a"}, {"role": "user", "content": "two", "id": "a"})
    complaint = cli.refuses(4, "add", session, "--jsonl", stdin=sent)
    assert "line 2 of standard input" in complaint
    assert "1 turn is recorded and stays" in complaint


def test_a_session_in_use_is_a_conflict_that_names_the_owner(cli: Segue, session: str) -> None:
    with cli.library.open(session):
        assert f"process {os.getpid()}" in cli.refuses(4, "rename", session, "other")


def test_a_session_that_is_not_there_is_not_made(cli: Segue) -> None:
    cli.refuses(3, "add", "nobody", "text")
    assert not cli.root.exists()
