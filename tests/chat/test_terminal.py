"""At a real terminal (a pty): reading, showing, stopping."""

from __future__ import annotations

import json
import re
import stat
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.chat.terminal.drawing import Canvas, Drawing, MarkdownPage
from segue.chat.terminal.input_history import KEPT, InputHistory
from segue.chat.terminal.prompt import PromptHistory
from tests.support.chat_program import MARKDOWN
from tests.support.chat_terminal import (
    CTRL_C,
    CTRL_D,
    CTRL_R,
    CTRL_Z,
    ENTER,
    PASTE_BEGIN,
    PASTE_END,
    TAB,
    UP,
    ChatTerminal,
)
from tests.support.screen import ScreenBuffer

if TYPE_CHECKING:
    from pathlib import Path

COLOUR = re.compile(r"\x1b\[[0-9;]*m")

DOCUMENT = (
    MARKDOWN
    + """- a
  - b

    deeper

| a | b |
|---|---|
| 1 | 2 |

> quote
goes on

Setext
======

3) three

***

[link](http://example.org) and ~~nothing~~ but a <b>tag</b>

<details>
<summary>in HTML</summary>

    indented

End \N{FAMILY}\u0301
"""
)


# ── Drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(
    lines=st.lists(st.text("ab", min_size=1, max_size=3), max_size=30),
    steps=st.lists(st.integers(0, 30)),
    rows=st.integers(2, 8),
)
def test_lines_that_grow_are_drawn_once_and_none_is_lost_from_the_scrollback(
    lines: list[str], steps: list[int], rows: int
) -> None:
    screen = ScreenBuffer(rows)
    canvas = Canvas(screen.write, rows)
    for upto in sorted(steps):
        shown = lines[:upto]
        canvas.update([*shown[:-1], shown[-1][:1]] if shown else [])  # the last is still being written
    canvas.keep(lines)
    canvas.keep(["next"])
    assert screen.all == [*lines, "next"]


@given(cuts=st.lists(st.integers(0, len(DOCUMENT))))
def test_markdown_looks_the_same_however_it_was_cut_into_pieces(cuts: list[int]) -> None:
    whole, pieces = MarkdownPage(60), MarkdownPage(60)
    wanted = [*whole.add(DOCUMENT), *whole.end()]
    bounds = [0, *sorted(cuts), len(DOCUMENT)]
    found: list[str] = []
    for start, end in pairwise(bounds):
        found += pieces.add(DOCUMENT[start:end])
        pieces.last()
    assert [*found, *pieces.end()] == wanted


@given(
    text=st.lists(
        st.sampled_from(
            ["&#27;", "&#155;", "&#x9b;", "&#8238;", "[2J", "`", "```\n", "[a](", ")", "<b>", "|", "\n", "x", "*", "# "]
        )
    ).map("".join)
)
def test_no_entity_becomes_a_control_sequence(text: str) -> None:
    page = MarkdownPage(40)
    shown = COLOUR.sub("", "".join([*page.add(text), *page.end()]))
    assert re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", shown) is None


def test_html_is_shown_as_text_line_by_line() -> None:
    page = MarkdownPage(40)
    text = "A Vec<u8> in a <b>word</b>.\n\n<user>\nLogin &lt; fails.\n  </user>\n\n- one\n\n  <!-- two -->\n"
    shown = [COLOUR.sub("", line) for line in [*page.add(text), *page.end()]]
    assert shown == [
        "A Vec<u8> in a <b>word</b>.",
        "",
        "<user>",
        "Login &lt; fails.",
        "  </user>",
        "",
        " • one",
        "   <!-- two -->",
    ]


def test_a_spinner_gives_way_to_the_answer() -> None:
    screen = ScreenBuffer(10)
    drawing = Drawing(screen.write, columns=40, rows=10, waiting="waiting for somebody")
    drawing.add("\r")
    drawing.add("\nHello\r")
    drawing.add("\nthere")
    drawing.finish()
    assert screen.all == ["Hello there"]


def test_what_drawing_raises_is_not_swallowed() -> None:
    def broken(_: str) -> None:
        raise OSError(5, "the terminal is gone")

    drawing = Drawing(broken, columns=40, rows=10, waiting="waiting for somebody")
    with pytest.raises(OSError, match="gone"):
        drawing.finish()


# ── What was typed before ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_history_is_cut_to_its_newer_half_and_survives_what_is_wrong_in_it(tmp_path: Path) -> None:
    path = tmp_path / "typed"
    path.write_text("".join(f"{json.dumps(f'line {number}')}\n" for number in range(2 * KEPT)) + '7\n"cut of')
    typed = list(PromptHistory(InputHistory(path)).load_history_strings())
    assert typed[:2] == [f"line {2 * KEPT - 1}", f"line {2 * KEPT - 2}"]
    assert path.read_bytes().count(b"\n") == KEPT
    PromptHistory(InputHistory(path)).store_string("new\nest \ud800")
    assert next(iter(PromptHistory(InputHistory(path)).load_history_strings())) == "new\nest \ud800"


def test_a_history_that_cannot_be_kept_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    typed = PromptHistory(InputHistory(tmp_path / "file" / "history"))
    typed.store_string("lost")
    assert list(typed.load_history_strings()) == []


# ── Talking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_at_a_terminal(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for("session talk · /help lists the commands")
        at.wait_for("actor>")
        at.wait_for_status("of 100,000 tokens · 0 turns · main · talk")
        at.type(f"hello{ENTER}")
        at.wait_for("You said: 'hello'.")
        at.wait_for_status("tokens · 2 turns")
        at.type(f"/exit{ENTER}")
        at.wait_for("session talk is saved in journal:")
        at.wait_for("resume with: segue resume talk")
        assert at.end() == 0
    assert at.session.status == "paused"


def test_a_backslash_and_a_paste_make_a_message_of_many_lines(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"one\\{ENTER}two{ENTER}")
        at.wait_for("You said: 'one\\ntwo'.")
        at.wait_for_prompt()
        at.type(f"{PASTE_BEGIN}three\r\nfour\n/exit{PASTE_END}{ENTER}")
        at.wait_for("You said: 'three\\nfour\\n/exit'.")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0


def test_what_was_typed_is_found_again_the_next_time_and_by_nobody_else(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"first{ENTER}")
        at.wait_for("You said: 'first'.")
        at.type(f"second{ENTER}")
        at.wait_for("You said: 'second'.")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    file = tmp_path / "state" / "history.jsonl"
    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        {"text": text, "session": "talk"} for text in ("first", "second")
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with ChatTerminal(tmp_path) as at:
        at.wait_for_status("4 turns · main")
        at.type(f"{UP}{ENTER}")
        at.wait_for_status("6 turns · main")
        at.type(f"{CTRL_R}fir")
        at.wait_for("first")
        at.type(f"{ENTER}{ENTER}")
        at.wait_for_status("8 turns · main")
        at.type(CTRL_D)
        assert at.end() == 0
        assert [text for role, text in at.said if role == "user"] == ["first", "second", "second", "first"]


def test_commands_and_paths_are_completed(tmp_path: Path) -> None:
    (tmp_path / "notes-of-yesterday.txt").write_text("notes")
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type("/contex")
        at.wait_for_bytes("attach files")
        at.type(TAB)
        at.wait_for_line("actor> /context")
        at.type(" notes")
        at.wait_for_bytes("notes-of-yesterday.txt")
        at.type(TAB)
        at.wait_for_line("actor> /context notes-of-yesterday.txt")
        at.type(ENTER)
        at.wait_for("is attached (5 bytes)")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0


def test_ctrl_c_clears_the_line_and_twice_leaves(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"never sent{CTRL_C}")
        at.wait_for_status("Ctrl-C once more leaves")
        at.type(f"sent{ENTER}")
        at.wait_for("You said: 'sent'.")
        at.wait_for_status("2 turns")
        at.type(CTRL_C)
        at.wait_for_status("Ctrl-C once more leaves")
        at.type(CTRL_C)
        at.wait_for("resume with: segue resume talk")
        assert at.end() == 0
    assert at.said == [("user", "sent"), ("assistant", "You said: 'sent'.")]


def test_ctrl_z_suspends_and_leaves_no_mark_in_the_line(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type("hel")
        at.wait_for_line("actor> hel")
        at.type(CTRL_Z)  # where no shell could bring it back, the system does not suspend it
        at.type(f"lo{ENTER}")
        at.wait_for("You said: 'hello'.")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert at.said[0] == ("user", "hello")


def test_ctrl_c_stops_an_answer_and_keeps_what_had_come(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"hang{ENTER}")
        at.wait_for("The beginning of")
        at.type(CTRL_C * 3)
        at.wait_for("the partial answer is saved, marked as cut off")
        at.type(f"hello{ENTER}")
        at.wait_for("You said: 'hello'.")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert [(turn.content, turn.partial) for turn in at.session.turns[:2]] == [
        ("hang", False),
        ("The beginning of", True),
    ]


def test_a_spinner_turns_while_nothing_comes_and_ctrl_c_ends_the_waiting(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"wait{ENTER}")
        at.wait_for("⠋ waiting for actor")
        at.wait_for_bytes("⠙ waiting for actor")
        at.type(CTRL_C)
        at.wait_for("your message is saved, and /retry asks again")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert at.said == [("user", "wait")]


def test_an_error_offers_to_try_again(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"fail{ENTER}")
        at.wait_for("the line is dead")
        at.wait_for("Try again? [Y/n]")
        at.type(f"what?{ENTER}")
        at.wait_for("Try again? [Y/n]")
        at.type(ENTER)
        at.wait_for("Try again? [Y/n]")
        at.type(CTRL_C)
        at.wait_for("your message is saved")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert at.said == [("user", "fail")]


def test_a_message_that_kill_9_left_unanswered_can_be_asked_again(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"wait{ENTER}")
        at.wait_for("waiting for actor")
        at.process.kill()
        at.end()
    assert at.session.status == "interrupted"
    with ChatTerminal(tmp_path) as at:
        at.wait_for("your last message was not answered: “wait”")
        at.wait_for("Ask again? [Y/n]")
        at.type(f"n{ENTER}")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert at.said == [("user", "wait")]


def test_markdown_is_rendered_as_it_streams(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"markdown{ENTER}")
        at.wait_for("The end.")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert "\x1b[1mbold\x1b[0m" in at.raw
    assert "**bold**" not in at.raw
    assert at.said[1] == ("assistant", f"{MARKDOWN}The end.")


@pytest.mark.parametrize("plain", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_a_plain_terminal_gets_the_text_as_it_is(tmp_path: Path, plain: dict[str, str]) -> None:
    with ChatTerminal(tmp_path, **plain) as at:
        at.wait_for("actor>")
        at.type(f"markdown{ENTER}")
        at.wait_for("Some **bold** text, `code`")
        at.wait_for("The end.")
        at.type(f"/exit{ENTER}")
        assert at.end() == 0
    shown = at.raw.partition("# A title")[2].partition("The end.")[0]
    assert "\x1b" not in shown


def test_no_control_sequence_of_an_answer_reaches_the_terminal(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path) as at:
        at.wait_for_prompt()
        at.type(f"hostile{ENTER}")
        at.wait_for("\\x1b]0;owned\\x07 \\x1b[2J\\u202e")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert "\x1b]0;owned" not in at.raw
    assert "\u202e" not in at.raw
