from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import segue
from segue.model import Turn

if TYPE_CHECKING:
    from tests.support.cli import Segue

JUNK = b"\x00\xff junk\n"


def damage(cli: Segue, session: str) -> None:
    """Replace the line of the first turn."""
    path = cli.root / f"{session}.jsonl"
    first, _, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, JUNK, *rest]))


# ── list ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_piped_a_listing_has_tabs_and_exact_times(cli: Segue, session: str) -> None:
    fields = cli.ok("list").rstrip("\n").split("\t")
    assert fields[:4] == [session, "qa", "Login bug", "2"]
    assert fields[6] == "paused"
    assert datetime.fromisoformat(fields[5]) <= datetime.now(UTC)


def test_the_last_active_comes_first(cli: Segue, session: str) -> None:
    cli.ok("new", "--id", "later")
    assert [line.split("\t")[0] for line in cli.ok("list").splitlines()] == ["later", session]
    assert cli.ok("list", "--limit", "1").startswith("later\t")


@pytest.mark.parametrize(
    "filters",
    [("--agent", "qa"), ("--tag", "web"), ("--status", "completed"), ("--since", "7d"), ("--limit", "9" * 30)],
)
def test_a_filter_keeps_what_matches(cli: Segue, session: str, filters: tuple[str, str]) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=30)
    library = segue.open(cli.store, clock=lambda: long_ago)
    library.create(id="old").close()
    library.store.mark_changed("old", long_ago)
    cli.ok("complete", session)
    assert cli.ok("list", *filters).splitlines()[0].startswith(f"{session}\t")
    assert ("old" in cli.ok("list", *filters)) == (filters[0] == "--limit")


def test_an_empty_listing_says_how_to_start(cli: Segue) -> None:
    result = cli.call("list")
    assert (result.code, result.text) == (0, "")
    assert "start one with segue chat" in result.complaint
    assert cli.ok("list", "--json") == "[]\n"


def test_a_damaged_session_is_listed_as_such(cli: Segue, session: str) -> None:
    (cli.root / "broken.jsonl").write_bytes(JUNK)
    result = cli.call("list")
    assert result.code == 0
    assert {line.split("\t")[0]: line.split("\t")[6] for line in result.text.splitlines()} == {
        session: "paused",
        "broken": "damaged",
    }
    assert "segue verify broken" in result.complaint


# ── show ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_transcript_numbers_the_turns_and_says_who_spoke(cli: Segue, session: str) -> None:
    shown = cli.ok("show", session)
    assert "1 user" in shown
    assert "Why does login fail?" in shown
    assert "2 assistant" in shown
    assert "7 tokens" in shown


def test_a_unique_beginning_of_an_id_is_enough(cli: Segue, session: str) -> None:
    assert cli.ok("show", session[:2]) == cli.ok("show", session)


def test_json_has_the_turns_of_the_branch_that_was_asked_for(cli: Segue, session: str) -> None:
    cli.ok("fork", session, "--at", "1", "--name", "other")
    assert len(json.loads(cli.ok("show", session, "--json"))["turns"]) == 1
    assert len(json.loads(cli.ok("show", session, "--json", "--branch", "main"))["turns"]) == 2


def test_the_last_turns_keep_their_numbers(cli: Segue, session: str) -> None:
    shown = cli.ok("show", session, "-n", "1")
    assert "2 assistant" in shown
    assert "Why does login fail?" not in shown
    assert "## 2. assistant" in cli.ok("show", session, "-n", "1", "--markdown")
    assert [turn["tokens"] for turn in json.loads(cli.ok("show", session, "-n", "1", "--json"))["turns"]] == [7]


def test_a_branch_that_is_not_there_is_named_with_those_that_are(cli: Segue, session: str) -> None:
    assert "it has main" in cli.refuses(3, "show", session, "--branch", "nope")
    assert "it has main" in cli.refuses(3, "show", session, "--branch", "nope", "-n", "1")


@pytest.mark.parametrize("args", [(), ("--json",), ("--markdown",), ("-n", "5")])
def test_of_a_damaged_session_the_rest_is_shown_and_the_damage_said(
    cli: Segue, session: str, args: tuple[str, ...]
) -> None:
    damage(cli, session)
    before = cli.files()
    result = cli.call("show", session, *args)
    assert "The token expires." in result.text
    assert result.code == 5
    assert "line 2" in result.complaint
    assert cli.files() == before


def test_a_session_of_which_nothing_can_be_read_is_damaged(cli: Segue, session: str) -> None:
    (cli.root / "broken.jsonl").write_bytes(JUNK)
    assert "is damaged at broken.jsonl line 1" in cli.refuses(5, "show", "broken")
    assert session in cli.ok("show", session)


# ── tail ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_tail_shows_the_last_turns_only(cli: Segue, session: str) -> None:
    assert "Why does" not in cli.ok("tail", session, "-n", "1")
    assert cli.ok("tail", session, "-n", "0") == ""
    assert len(cli.ok("tail", session, "--json").splitlines()) == 2


def test_following_shows_what_another_process_records_and_ends_with_the_session(cli: Segue, session: str) -> None:
    command = [sys.executable, "-m", "segue", "tail", session, "-n", "1", "-f", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=cli.environment()) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["content"] == "The token expires."
        assert json.loads(process.stdout.readline())["status"] == "paused"
        cli.ok("add", session, "and now?")
        assert json.loads(process.stdout.readline())["content"] == "and now?"
        cli.ok("delete", session, "--yes")
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_at_a_terminal_answers_are_rendered_and_nothing_else_is(cli: Segue) -> None:
    answer = "Use **`ttl`**:\n\n- early &#155;31m\n\x1b[2J"
    with cli.library.create(id="talk") as live:
        live.add("user", "why `__init__(a*b*c)`")
        live.add("assistant", answer)
    rendered = cli.at_terminal("show", "talk", PAGER="", TERM="xterm").end().text
    assert "why `__init__(a*b*c)`" in rendered
    assert "**" not in rendered
    assert " \N{BULLET} " in rendered
    for text in (rendered, cli.at_terminal("show", "talk", "--plain", PAGER="cat", TERM="xterm").end().text):
        assert "\x1b[2J" not in text
        assert "\x9b" not in text
    assert "Use **`ttl`**:\n\n- early &#155;31m\n" in text
    assert "Use **`ttl`**:" in cli.at_terminal("show", "talk", PAGER="cat", TERM="xterm", NO_COLOR="1").end().text
    assert "Use **`ttl`**:" in cli.ok("show", "talk")


def test_ctrl_c_ends_following_without_a_word(cli: Segue, session: str) -> None:
    terminal = cli.at_terminal("tail", session, "-f")
    terminal.wait_for("The token expires.")
    terminal.process.send_signal(signal.SIGINT)
    result = terminal.end()
    assert result.code == 130
    assert result.text.endswith("The token expires.\n")


def test_a_reader_that_goes_away_ends_it_quietly(cli: Segue, session: str) -> None:
    cli.ok("add", session, "--jsonl", stdin=b'{"role":"user","content":"' + b"x" * 200_000 + b'"}\n')
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m segue show {session} | head -n 1"],
        capture_output=True,
        check=False,
        env=cli.environment(),
    )
    assert (done.returncode, done.stdout, done.stderr) == (141, b"Login bug\n", b"")


# ── What was used ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_tokens_cost_effort_and_git_branch_are_shown_and_are_fields(cli: Segue) -> None:
    usage = {"input_tokens": 6150, "cached_tokens": 5000, "output_tokens": 450, "cost_usd": 0.0625}
    image = {"type": "image", "media_type": "image/png", "data": "A" * 1000}
    turn = Turn(role="assistant", content="Yes.", timestamp=datetime(2026, 11, 15, tzinfo=UTC), tokens=450, id="t1")
    turn = replace(turn, parts=(image,), extra={"usage": usage, "effort": "high\x1b[2J"})
    result = {"type": "tool_result", "id": "c", "content": "a long result"}
    with cli.library.create(id="s", extra={"git_branch": "login"}) as live:
        live.record(turn, replace(turn, id="t2"))
        live.record(replace(turn, id="t3", role="tool", content="a long result", parts=(result,), extra={}))
    shown = cli.ok("show", "s")
    assert shown.count("a long result") == 1
    assert "\ngit branch login · tokens: 12,300 in (10,000 cached), 900 out · $0.12\n" in shown
    assert "6,150 in (5,000 cached), 450 out · $0.06 · effort high" in shown
    assert "\x1b" not in shown
    assert '"data": "[1,000 characters of base64]"' in shown
    for verb in (("show", "s", "--json"), ("export", "s", "--format", "json")):
        found = json.loads(cli.ok(*verb))
        first, *_ = found.get("turns") or found["own_turns"]["main"]
        assert (found["git_branch"], first["usage"], first["parts"]) == ("login", usage, [image])
    assert json.loads(cli.ok("show", "s", "--json"))["usage"]["cost_usd"] == 0.125
    cli.ok("search", "yes")  # which reads every turn
    (listed,) = json.loads(cli.ok("list", "--json"))
    assert (listed["git_branch"], listed["usage"]["output_tokens"]) == ("login", 900)
