"""Each command, in a conversation over a real journal."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError
from segue.chat.agents.offline import OfflineAgent
from segue.chat.commands import COMMANDS, Called, Command, Table, TypedLine, UnknownCommand, table_of
from segue.chat.dialect import SEGUE, Dialect
from tests.support.conversation import EchoAgent, ScriptedChat

if TYPE_CHECKING:
    from pathlib import Path

PROMISED = [
    "help",
    "exit",
    "quit",
    "q",
    "save",
    "history",
    "clear",
    "stats",
    "agent",
    "model",
    "export",
    "import",
    "load",
    "title",
    "tag",
    "decide",
    "decisions",
    "context",
    "autorecord",
    "fork",
    "branches",
    "switch",
    "undo",
    "learn",
    "pattern",
    "pause",
    "complete",
    "new",
    "resume",
    "list",
    "rename",
    "copy",
    "edit",
    "compact",
]


@pytest.fixture
def table() -> Table:
    return table_of(SEGUE)


@pytest.fixture
def desk(tmp_path: Path) -> ScriptedChat:
    return ScriptedChat(tmp_path)


# ── What is a command ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", PROMISED)
def test_every_promised_command_is_in_the_table_with_a_line_of_help(table: Table, name: str) -> None:
    command = table.find(name)
    assert command is not None
    assert command.help
    assert "\n" not in command.help


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "/usr/bin is missing",
        "/usr/bin/x is broken",
        "/etc/passwd",
        "/^a.*b$/ matches",
        "/* a comment */",
        "/",
        "/ exit",
        "/2 of them",
        "look at /exit",
        "exit now",
        "How do I quit?",
        "\N{FULLWIDTH SOLIDUS}exit",
    ],
)
def test_what_only_looks_like_a_command_is_said(table: Table, line: str) -> None:
    assert table.parse(line) == TypedLine(line)


def test_two_slashes_say_a_text_that_begins_with_one(table: Table) -> None:
    assert table.parse("//exit is a command") == TypedLine("/exit is a command")


@pytest.mark.parametrize("line", ["/title a  b ", "/TITLE a  b", "  /title  a  b"])
def test_a_command_is_told_all_that_stands_behind_its_name(table: Table, line: str) -> None:
    called = table.parse(line)
    assert isinstance(called, Called)
    assert (called.command.name, called.argument) == ("title", "a  b")


def test_a_text_of_many_lines_is_an_argument_as_well(table: Table) -> None:
    called = table.parse("/decide one\ntwo")
    assert isinstance(called, Called)
    assert called.argument == "one\ntwo"


@pytest.mark.parametrize("line", ["exit", "quit", "EXIT", " quit ", "/quit", "/q"])
def test_exit_and_quit_leave_with_and_without_a_slash(table: Table, line: str) -> None:
    called = table.parse(line)
    assert isinstance(called, Called)
    assert called.command.name == "exit"


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("/exti", ("exit",)),
        ("/histroy 5", ("history",)),
        ("/decisons", ("decisions",)),
        ("/hist 5", ("history",)),
        ("/nwe", ("new",)),
        ("/delete this", ()),
        ("/exit, please", ("exit",)),
        ("/tmp is full", ()),
        ("/README.md is wrong", ()),
        ("/workspce.plan x", ()),
        ("/größe 5", ()),
    ],
)
def test_an_unknown_command_is_never_sent_to_a_model(table: Table, line: str, near: tuple[str, ...]) -> None:
    assert table.parse(line) == UnknownCommand(line.split(maxsplit=1)[0][1:], near)


def test_an_unknown_command_is_named_with_a_hint_and_the_conversation_goes_on(desk: ScriptedChat) -> None:
    assert desk.talk("/exti", "/frobnicate the thing", "hello") == "You said: hello\n"
    assert "there is no command /exti; did you mean /exit? //exti sends it as text" in desk.err
    assert "there is no command /frobnicate; /help lists all" in desk.err
    assert desk.said == [("user", "hello"), ("assistant", "You said: hello")]


def test_a_dialect_adds_replaces_and_hides_commands(desk: ScriptedChat) -> None:
    wave = Command(name="wave", help="wave", run=lambda chat, text: chat.terminal.say(f"* waves {text} *"))
    desk.dialect = Dialect(name="aur", extra=(wave,), hidden=("undo",))
    desk.talk("/wave twice", "/undo", "/help")
    assert desk.out.startswith("* waves twice *\n")
    assert "there is no command /undo" in desk.err
    assert "/wave" in desk.out
    assert "/undo" not in desk.out


def test_help_names_every_command_and_one_alone(desk: ScriptedChat) -> None:
    desk.talk("/help")
    assert all(f"/{command.name}" in desk.out and command.help in desk.out for command in COMMANDS)
    assert max(map(len, desk.out.splitlines())) <= 80
    desk.talk("/help /fork", "/help forck")
    assert desk.out == "/fork [--new] [NAME] [N]  branch off here or at turn N, or --new session\n"
    assert "did you mean /fork?" in desk.err


# ── Notes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_title_tags_decisions_learnings_and_patterns_are_recorded(desk: ScriptedChat) -> None:
    desk.talk(
        "/title Login bug",
        "/tag urgent +auth",
        "/tag -urgent",
        "/decide Refresh early",
        "/learn Tokens expire",
        "/pattern retry: try: three times",
    )
    found = desk.session
    assert (found.title, found.tags) == ("Login bug", ("auth",))
    assert [(one.content, one.source) for one in found.decisions] == [("Refresh early", "command")]
    assert [one.description for one in found.learnings] == ["Tokens expire"]
    assert [(one.name, one.description) for one in found.patterns] == [("retry", "try: three times")]
    assert desk.talk("/title", "/tag", "/decisions") == "Login bug\n\nauth\n\n1. Refresh early\n"


@pytest.mark.parametrize("line", ["/decide", "/learn", "/pattern", "/pattern a", "/pattern : b", "/tag +"])
def test_a_command_without_what_it_needs_says_how_it_is_used(desk: ScriptedChat, line: str) -> None:
    desk.talk(line)
    assert re.search(rf"segue: .+; .*{line.split(maxsplit=1)[0]} ", desk.err)
    assert desk.code == 1


def test_decisions_in_answers_are_recorded_while_autorecord_is_on(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent("[DECISION: one]", "[DECISION: two]", "[DECISION: three]")
    desk.talk("a", "/autorecord on", "b", "/autorecord off", "c", "/autorecord maybe")
    assert [one.content for one in desk.session.decisions] == ["two"]
    assert "'maybe' is neither on nor off" in desk.err


# ── Looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_history_shows_the_last_turns_with_their_numbers(desk: ScriptedChat) -> None:
    desk.talk("one", "two")
    assert desk.talk("/history 3") == (
        "2 assistant\nYou said: one\n\n3 user\ntwo\n\n4 assistant\nYou said: two\n".replace(
            "assistant", "assistant" + model_of(desk)
        )
    )
    desk.talk("/history x")
    assert "'x' is not a number of turns" in desk.err


def model_of(desk: ScriptedChat) -> str:
    model = desk.session.turns[-1].model
    return f" · {model}" if model else ""


def test_stats_say_how_many_turns_and_tokens_and_who_counted(desk: ScriptedChat) -> None:
    desk.talk("one", "/stats")
    assert re.search(r"^turns +2$", desk.out, re.MULTILINE)
    assert re.search(
        r"^tokens +\d+ in, \d+ out since it was opened \((an estimate|counted by the tokenizer)\)$",
        desk.out,
        re.MULTILINE,
    )
    assert re.search(r"^window +\d+ of 100,000 tokens$", desk.out, re.MULTILINE)


def test_clear_leaves_the_session_and_says_so(desk: ScriptedChat) -> None:
    desk.talk("one", "/clear")
    assert "the session is unchanged" in desk.err
    assert len(desk.said) == 2


# ── Who answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_another_agent_answers_and_it_is_recorded(desk: ScriptedChat) -> None:
    desk.talk("/agent crow", "/model big", "/agent")
    assert desk.out == "agent: crow/big\navailable: owl, parrot\n"
    assert desk.session.overrides == {"agent": "crow", "model": "big"}


def test_a_preset_is_recorded_by_name_and_hash(desk: ScriptedChat) -> None:
    desk.talk("/agent crow", "/model big", "/agent owl", "hello")
    found = desk.session
    assert found.preset is not None
    assert (found.preset.name, found.preset.hash[:7]) == ("owl", "sha256:")
    assert found.overrides == {}


def test_an_unknown_agent_changes_nothing(desk: ScriptedChat) -> None:
    desk.talk("/agent eagle", "/agent")
    assert "there is no agent eagle; there are owl and parrot" in desk.err
    assert desk.out.startswith("agent: parrot\n")
    assert desk.session.overrides == {}


# ── Ways ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_undo_goes_back_before_the_last_message_and_keeps_it(desk: ScriptedChat) -> None:
    desk.talk("one", "two", "/undo", "three")
    assert desk.said == [
        ("user", "one"),
        ("assistant", "You said: one"),
        ("user", "three"),
        ("assistant", "You said: three"),
    ]
    assert "back before turn 3 (“two”), now in branch-2; nothing is lost: /switch main goes back" in desk.err
    desk.talk("/switch main", "/history 1")
    assert desk.out.endswith("You said: two\n")


def test_undo_looks_back_as_far_as_needed(desk: ScriptedChat) -> None:
    desk.talk("one")
    with desk.library.resume("talk") as session:
        for number in range(40):
            session.add("tool", str(number))
    desk.talk("/undo", "/undo")
    assert desk.session.turns == ()
    assert "there is nothing to undo" in desk.err


def test_fork_takes_a_name_and_a_turn(desk: ScriptedChat) -> None:
    desk.talk("one", "two", "/fork other 1", "/branches")
    assert desk.out.splitlines()[-2:] == ["  main   4 turns", "* other  1 turn, from main at 1"]
    desk.talk("/switch nowhere", "/fork a b", "/switch main")
    assert "has no branch 'nowhere'; it has main, other" in desk.err
    assert desk.session.branch == "main"


def test_load_goes_to_another_session_and_leaves_this_one_cleanly(desk: ScriptedChat) -> None:
    desk.talk("there", id="other")
    desk.talk("here", "/load oth", "again")
    assert [(head.id, head.turn_count, head.status) for head in desk.library.list()] == [
        ("other", 4, "paused"),
        ("talk", 2, "paused"),
    ]
    assert "segue resume other" in desk.err


def test_a_session_is_found_by_number_words_or_text_and_its_end_is_shown(desk: ScriptedChat) -> None:
    desk.talk("about tokens", id="first")
    desk.talk("/title Login bug", "something else", id="second")
    listed = desk.talk("/list", "/resume @2", "again").splitlines()
    titles = [line.split(" · ")[0].split(maxsplit=1)[1] for line in listed[:3]]
    assert titles == ["talk", "Login bug", "“about tokens”"]
    assert ["this one" in line for line in listed[:3]] == [True, False, False]
    assert desk.library.load("second").turn_count == 4
    assert "now in session second, with 2 turns; talk is paused\nuser\nsomething else\n" in desk.err
    desk.talk("/resume login", "and now", "/resume -", "here again")
    assert desk.library.load("second").turn_count == 6
    assert desk.said[-1] == ("assistant", "You said: here again")
    desk.talk("/resume about tokens", "hello")
    assert desk.library.load("first").turn_count == 4
    assert desk.talk("/list login").count("\n") == 1
    desk.talk("/resume", "2", "yes", "/resume nothing of it", "/resume", "words of none")
    assert desk.library.load("second").turn_count == 8
    assert desk.err.count("no session matches") == 2


def test_new_starts_another_session_with_the_same_agent(desk: ScriptedChat) -> None:
    desk.talk("/agent owl", "one", "/new", "two", "/new Third idea", "/new", "/exit")
    first, second, third = sorted(desk.library.list(), key=lambda head: head.created_at)
    assert [head.status for head in (first, second, third)] == ["paused"] * 3
    assert (third.title, third.turn_count) == ("Third idea", 0)
    found = desk.library.load(second.id)
    assert (found.agent, [turn.content for turn in found.turns]) == ("owl", ["two", "You said: two"])
    assert found.preset is not None
    assert found.preset.name == "owl"
    assert "Empty session discarded." in desk.err


def test_a_fork_into_a_new_session_has_what_there_was_by_then(desk: ScriptedChat) -> None:
    (desk.root / "notes.txt").write_text("Tokens live an hour.")
    desk.talk("/context notes.txt", "/decide Early", "/tag x", "one", "two", "/decide Late")
    desk.talk("/fork --new Another try 2", "three", "/fork --new")
    (copy,) = desk.library.list(limit=2)[1:]
    found = desk.library.load(copy.id)
    assert (found.title, found.tags, found.agent) == ("Another try", ("x",), "parrot")
    assert [turn.content for turn in found.turns] == ["one", "You said: one", "three", "You said: three"]
    assert [one.content for one in found.decisions] == ["Early"]
    assert "Tokens live an hour." in desk.agent.requests[-1].system
    assert found.extra["forked_from"] == {"session": "talk", "branch": "main", "turns": 2}
    assert desk.session.turn_count == 4
    assert "a copy of talk with 2 turns" in desk.err
    assert f"a copy of {copy.id} with 4 turns" in desk.err


@pytest.mark.parametrize("line", ["/load nowhere", "/load talk", "/resume 7", "/fork --new 9"])
def test_a_load_that_fails_stays_where_it_is(desk: ScriptedChat, line: str) -> None:
    desk.talk(line, "hello")
    assert desk.code == 1
    assert len(desk.said) == 2


def test_a_completed_session_is_loaded_only_after_a_yes(desk: ScriptedChat) -> None:
    desk.talk("there", "/complete", id="other")
    desk.talk("/load other", "n", "/load other", "yes", "again")
    assert desk.library.load("other").turn_count == 4
    assert desk.said == []


# ── Files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_save_writes_a_copy_in_the_format_of_its_ending(desk: ScriptedChat) -> None:
    desk.talk("hello", "/save", "/save copy.JSON", "/save ~/copy.jsonl")
    assert "You said: hello" in (desk.root / "talk.md").read_text()
    assert json.loads((desk.root / "copy.JSON").read_text())["id"] == "talk"
    assert "cannot write" in desk.err  # there is no such home
    (desk.root / "home").mkdir()
    desk.talk("/save ~/copy.jsonl")
    lines = (desk.root / "home" / "copy.jsonl").read_text().splitlines()
    assert [json.loads(line)["role"] for line in lines] == ["user", "assistant"]


def test_save_replaces_a_file_only_after_a_yes(desk: ScriptedChat) -> None:
    (desk.root / "mine.md").write_text("mine")
    desk.talk("/save mine.md")
    assert (desk.root / "mine.md").read_text() == "mine"
    desk.talk("/save mine.md", "n")
    assert (desk.root / "mine.md").read_text() == "mine"
    assert "nothing was written" in desk.err
    desk.talk("/save mine.md", "y")
    assert (desk.root / "mine.md").read_text().startswith("# talk")


def test_save_replaces_no_link_and_no_folder(desk: ScriptedChat) -> None:
    (desk.root / "target").write_text("mine")
    (desk.root / "link.md").symlink_to("target")
    (desk.root / "folder").mkdir()
    desk.talk("/save link.md", "y", "/save folder")
    assert (desk.root / "target").read_text() == "mine"
    assert "is not a regular file and was not replaced" in desk.err
    assert (desk.root / "folder" / "talk.md").exists()


@pytest.mark.parametrize(("format", "name"), [("json", "copy.json"), ("jsonl", "copy.jsonl"), ("markdown", "copy.md")])
def test_what_was_exported_can_be_imported_elsewhere(desk: ScriptedChat, format: str, name: str) -> None:
    desk.talk("one", "two", "/fork other 1", "## 9. user", f"/export {format} copy", "/export")
    (desk.root / "copy").rename(desk.root / name)
    assert (desk.root / "talk.jsonl").exists()
    desk.talk(f"/import {name}", f"/import {name}", id="second")
    turns = desk.library.load("second").turns
    assert [(turn.role, turn.content) for turn in turns] == desk.said
    assert "0 turns recorded" in desk.err
    assert "3 were there already" in desk.err


@pytest.mark.parametrize("name", ["copy.json", "copy.jsonl", "copy.md"])
def test_a_session_imports_its_own_export_after_a_fork(desk: ScriptedChat, name: str) -> None:
    desk.talk("one", "two", f"/save {name}", "/fork other 2", f"/import {name}", f"/import {name}", "three")
    assert "2 turns recorded from" in desk.err
    assert "0 turns recorded from" in desk.err
    assert [content for role, content in desk.said if role == "user"] == ["one", "two", "three"]
    desk.talk("/switch main", f"/import {name}", "/fork third 0", f"/import {name}")
    assert "0 turns recorded from" in desk.err
    assert "4 turns recorded from" in desk.err
    assert [content for role, content in desk.said if role == "user"] == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl", '{"role":"user","content":"a"}\n{"role":"user"}\n', "a.jsonl: line 2: it has no content"),
        ("a.json", '[{"role":"user","content":"a"}, 7]', "a.json: turn 2: it is JSON, but not an object"),
        ("a.json", '{"turns": 7}', "not an export"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.txt", "hello", "it is not an export of a session"),
        ("a.md", "# Old\n\n- session: `s`\n\n## 1. user · 2026\n\nx\n", "it was not exported by this version"),
    ],
)
def test_an_import_with_anything_wrong_in_it_records_nothing(
    desk: ScriptedChat, name: str, content: str, reason: str
) -> None:
    (desk.root / name).write_text(content)
    desk.talk(f"/import {name}")
    assert reason in desk.err
    assert desk.said == []


def test_a_file_becomes_context_and_is_kept_with_its_hash(desk: ScriptedChat) -> None:
    (desk.root / "my notes.txt").write_text("Tokens live an hour.")
    desk.talk('/context "my notes.txt"', "hello", "/context my notes.txt", "/context")
    (one,) = desk.session.attachments
    assert desk.library.store.get_blob("talk", one.hash) == b"Tokens live an hour."
    assert "Tokens live an hour." in desk.agent.requests[0].system
    assert "is already attached and has not changed" in desk.err
    assert desk.out.endswith(f"{desk.root / 'my notes.txt'} (20 bytes)\n")


def test_several_files_become_context_all_or_none(desk: ScriptedChat) -> None:
    for name in ("a.py", "b.py", "my notes.txt"):
        (desk.root / name).write_text(f"in {name}")
    (desk.root / "picture.png").write_bytes(b"\0")
    desk.talk("/context a.py picture.png", "/context a.py missing.py", "/context *.rs", '/context "a.py')
    assert "picture.png is not a text file" in desk.err
    assert "cannot read" in desk.err
    assert "no file matches *.rs" in desk.err
    assert "a quotation mark is not closed" in desk.err
    assert not desk.session.attachments
    desk.talk('/context *.py "my notes.txt" a.py')
    names = [one.path.rpartition("/")[2] for one in desk.session.attachments]
    assert names == ["a.py", "b.py", "my notes.txt"]


def test_a_file_that_a_message_mentions_is_attached_and_nothing_else_is(desk: ScriptedChat) -> None:
    for name in ("a.txt", "my notes.txt", "host", ".env", "huge.bin"):
        (desk.root / name).write_text(f"in {name}")
    (desk.root / "huge.bin").write_bytes(b"\0")
    asked = 'see (@a.txt), @"my notes.txt"; user@host, @missing, @.env and @/etc/passwd'
    desk.talk(asked, "n", "no", "once more @a.txt", "but @huge.bin")
    assert [one.path.rpartition("/")[2] for one in desk.session.attachments] == ["a.txt", "my notes.txt"]
    assert "in my notes.txt" in desk.agent.requests[0].system
    assert f"{desk.root / '.env'} is hidden. Attach it?" in desk.err
    assert "/etc/passwd is not in this folder. Attach it?" in desk.err
    assert [content for role, content in desk.said if role == "user"] == [asked, "once more @a.txt"]
    assert "huge.bin is not a text file" in desk.err
    assert desk.err.count("is attached") == 2
    desk.talk("now @.env", "yes")
    assert "in .env" in desk.agent.requests[-1].system


def test_compact_continues_with_a_summary_and_deletes_nothing(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent("first", "second", "The token **expires**.", "third")
    desk.talk("one", "two", "/compact keep names", "three", "/compact", "/switch main")
    asked, after, again = desk.agent.requests[2:]
    assert [message.content for message in asked.messages[:-1]] == ["one", "first", "two", "second"]
    assert asked.messages[-1].content.endswith("Most important: keep names")
    assert [message.content for message in after.messages] == [
        "Summary of the 4 turns in branch main:\n\nThe token **expires**.",
        "three",
    ]
    assert "now in compact, where this summary is sent instead of the 4 turns" in desk.err
    assert "now in compact-2" in desk.err
    assert len(again.messages) == 4
    assert [content for _, content in desk.said] == ["one", "first", "two", "second"]


def test_a_conversation_that_no_longer_fits_says_so_once_and_compact_helps(desk: ScriptedChat) -> None:
    long = "word " * 8000
    desk.agent = EchoAgent(*["short"] * 15, "The summary.", "after")
    desk.talk(*[f"{number} {long}" for number in range(15)], "/compact", "and now")
    assert (
        len(re.findall(r"\d+ earlier turns were left out, which the budget has no room for; /compact", desk.err)) == 1
    )
    assert re.search(r"instead of the 30 turns \(\d+ of them did not fit and are not in it\)", desk.err)
    assert len(desk.agent.requests[-1].messages) == 2


def test_nothing_is_compacted_without_a_summary(desk: ScriptedChat) -> None:
    desk.agent = EchoAgent("first", (AgentError("the line is dead"),), "", (AgentError("dead again"),))
    desk.talk("/compact", "one", "/compact", "/compact", "two", "n", "/compact")
    for reason in (
        "nothing to summarize yet",
        "the line is dead",
        "gave no summary",
        "your last message is not answered",
    ):
        assert reason in desk.err
    assert list(desk.session.branches) == ["main"]


def test_the_offline_agent_makes_an_excerpt(desk: ScriptedChat) -> None:
    desk.talk("one")
    desk.agent = OfflineAgent()  # type: ignore[assignment]  # another agent of the same kind
    desk.talk("Why?", "/compact")
    assert "- You asked: one." in desk.session.turns[-1].content
    assert desk.session.branch == "compact"


def test_what_does_not_fit_of_a_file_is_reported_to_the_user_and_to_the_agent(desk: ScriptedChat) -> None:
    (desk.root / "old.txt").write_text("o" * 1000)
    (desk.root / "log.txt").write_text("x" * 200_000)
    desk.talk("/context old.txt", "/context log.txt", "hello", "/context")
    cut, gone = "only the first 160,000 of 200,000 characters", "none of the 1,000 characters"
    log = desk.root / "log.txt"
    assert f"{cut} of {log} are sent; all attachments share 40% of max_tokens" in desk.err
    assert f"{gone} of {desk.root / 'old.txt'} are sent" in desk.err
    assert f"{log} (200,000 bytes; {cut} are sent)" in desk.out
    (request,) = desk.agent.requests
    assert f"# Attached file: {log} ({cut})" in request.system
    assert "[40,000 more characters are left out]" in request.system
    desk.talk()
    assert cut in desk.err  # and when the session is resumed


def test_a_file_that_changed_since_is_told_on_return_and_attached_anew(desk: ScriptedChat) -> None:
    path = desk.root / "notes.txt"
    path.write_text("one")
    desk.talk("/context notes.txt")
    path.write_text("two")
    desk.talk("/context", "/context notes.txt")
    assert f"{path} has changed since it was attached; /context {path} attaches it again" in desk.err
    assert "it has changed since it was attached before" in desk.err
    assert "it has changed since" in desk.out
    assert len(desk.session.attachments) == 2
    path.unlink()
    desk.talk()
    assert f"{path} is gone since it was attached" in desk.err


def test_what_is_no_text_or_too_large_or_no_file_is_no_context(desk: ScriptedChat) -> None:
    (desk.root / "binary").write_bytes(b"a\0b")
    (desk.root / "latin").write_bytes(b"caf\xe9")
    (desk.root / "large").write_bytes(b"a" * ((1 << 20) + 1))
    os.mkfifo(desk.root / "pipe")
    desk.talk("/context binary", "/context latin", "/context large", "/context pipe", "/context .", "/context nothing")
    assert desk.err.count("is not a text file (UTF-8)") == 2
    assert "is too large: 1,048,577 bytes" in desk.err
    assert desk.err.count("is not a regular file") == 2
    assert "cannot read" in desk.err
    assert desk.session.attachments == ()


# ── Leaving ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "status"), [("/exit", "paused"), ("/pause", "paused"), ("/complete", "completed"), ("/q", "paused")]
)
def test_leaving_records_the_status_and_says_how_to_come_back(desk: ScriptedChat, line: str, status: str) -> None:
    desk.talk("hello", line, "never said")
    assert desk.session.status == status
    assert len(desk.said) == 2
    assert desk.err.endswith(f"session talk is saved in {desk.store}\nresume with: segue resume talk\n")
    assert desk.code == 0


def test_a_dialect_says_what_leaving_means_and_how_to_come_back(desk: ScriptedChat) -> None:
    desk.dialect = Dialect(name="aur", exit_status="completed", resume="aur spawn --resume {id}")
    desk.talk("hello")
    assert desk.session.status == "completed"
    assert desk.err.endswith("aur spawn --resume talk\n")
