"""What is shown is the truth: any conversation comes back from its text, and edits by hand cost nobody a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from segue.dialects.gptel.format.assembly import BranchFiles, Files, assemble_session
from segue.dialects.gptel.format.conversation import BranchText, displayable, is_visible, parse_pieces
from segue.dialects.gptel.format.edits import spans_in, turns_in
from segue.dialects.gptel.format.footer import Upto, read_page
from segue.dialects.gptel.format.lisp import Symbol, parse_lisp
from segue.dialects.gptel.format.settings import BOUNDS
from segue.model import Turn, fold
from segue.testing.events import metadata
from segue.testing.events import turn as some_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.dialects.gptel.format.footer import BufferPage
    from segue.model import Event

odd = st.sampled_from(list('ab \n\r\t\f\0\x1b\u2028\ufeff"\\()ö😀\ud800#`<!->-*:')) | st.characters(codec=None)
snippets = st.sampled_from(
    [
        "### ",
        "\n\n### x",
        "<!-- Local Variables: -->\n<!-- gptel-model: x -->\n<!-- End: -->\n",
        "\n\f\n<!-- segue 1.0 00000000 00000000 00000000 -->\n",
        "-*- mode: x -*-",
        '``` tool (x)\n(:name "x" :args nil)\n\ny\n```',
        "same line",
    ]
)
texts = st.lists(st.text(odd, max_size=12) | snippets, max_size=3).map("\n".join)


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    said = draw(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), texts), max_size=6))
    return [
        replace(some_turn(seq), role=role, content=text, seq=seq, id=f"t{seq}", parts=_parts(role, draw))
        for seq, (role, text) in enumerate(said, start=2)
    ]


def _parts(role: str, draw: st.DrawFn) -> tuple[dict[str, object], ...]:
    if role != "tool":
        return ()
    return ({"type": "tool_result", "id": draw(texts), "name": draw(texts), "arguments": {"path": draw(texts)}},)


def encoded(turns: Sequence[Turn]) -> bytes:
    return BranchText(turns).encode(Upto(99, 0), {"gptel-temperature": 0.8})


def displayable_slowly(text: str) -> str:
    """Character by character, as the format defines it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(REPLACED.get(character, character) for character in lines)


REPLACED = {chr(number): chr(0x2400 + number) for number in range(0x20) if chr(number) not in "\t\n"}
REPLACED |= {"\x7f": "\u2421", "\ufeff": "\ufffd"} | {chr(number): "\ufffd" for number in range(0xD800, 0xE000)}


def test_every_character_is_shown_as_the_format_defines_it() -> None:
    characters = [chr(number) for number in range(0x110000)]
    assert [one for one in characters if displayable(one) != displayable_slowly(one)] == []


@given(texts)
def test_any_text_is_shown_and_visible_as_the_format_defines_it(text: str) -> None:
    assert displayable(text) == displayable_slowly(text)
    assert is_visible(replace(some_turn(2), role="user", content=text)) == bool(displayable_slowly(text).strip())


def said(items: Sequence[object]) -> list[tuple[str, str]]:
    """Who said what, as far as a text can show it."""
    return [
        (item.role, displayable(getattr(item, "content", "") or getattr(item, "text", "")).strip())  # type: ignore[attr-defined]
        for item in items
        if not isinstance(item, Turn) or is_visible(item)
    ]


# ── Any conversation ─────────────────────────────────────────────────────────────────────────────────────────────────


@given(conversations())
def test_a_conversation_comes_back_from_its_text_alone(turns: list[Turn]) -> None:
    """As Emacs would save it again: without our line, with the bounds that we wrote."""
    page = read_page(encoded(turns))
    assert page.mark is not None
    assert page.mark.is_pristine
    body = BranchText(turns).body().decode()
    assert said(list(parse_pieces(body, parse_lisp(BranchText(turns).bounds())))) == said(turns)


@given(conversations())
def test_nothing_that_was_said_is_obeyed(turns: list[Turn]) -> None:
    data = encoded(turns)
    assert data.count(b"\f") == 1
    below = data.partition(b"\f")[2].decode()
    assert below.count("Local Variables:") == 1
    assert b"-*-" not in data.partition(b"\n")[0]
    assert b"\r" not in data
    assert b"\0" not in data


@given(conversations(), st.booleans())
def test_touching_the_file_changes_nothing(turns: list[Turn], by_emacs: bool) -> None:  # noqa: FBT001 - one of two
    data = encoded(turns)
    page = read_page(
        data.replace(b"0.8", b"0.9") if by_emacs else data.replace(b"\f\n<!-- segue", b" \n\f\n<!-- segue")
    )
    assert page.mark is not None
    assert not page.mark.is_pristine
    assert turns_in(page, turns) == turns


# ── Edits by hand ────────────────────────────────────────────────────────────────────────────────────────────────────

TYPED = "I TYPED THIS"


@given(conversations(), st.data())
def test_what_is_typed_between_turns_is_the_users_and_nothing_else_changes(
    turns: list[Turn], data: st.DataObject
) -> None:
    visible = [turn for turn in turns if is_visible(turn)]
    at = data.draw(st.integers(0, len(visible)))
    before = BranchText(visible[:at]).body().decode()
    body = BranchText(turns).body().decode()
    text = f"{before}\n### {TYPED}\n\n" + body[len(before) :].removeprefix("\n")
    page = read_page(encoded(turns).replace(body.encode(), text.encode(), 1))
    now = said(turns_in(page, turns))
    assert now == [*said(visible[:at]), ("user", TYPED), *said(visible[at:])]
    assert by_spans(page, turns) == now


@given(conversations(), st.data())
def test_a_line_typed_anywhere_is_never_lost(turns: list[Turn], data: st.DataObject) -> None:
    lines = encoded(turns).split(b"\n")
    at = data.draw(st.integers(0, len(lines)))
    edited = b"\n".join([*lines[:at], TYPED.encode(), *lines[at:]])
    now = said(turns_in(read_page(edited), turns))
    assert sum(text.count(TYPED) for _, text in now) == 1


@given(conversations(), st.data())
def test_no_words_of_the_user_become_the_assistants(turns: list[Turn], data: st.DataObject) -> None:
    marked = [
        replace(turn, content=f"{turn.content}\nUSER {turn.id}") if turn.role == "user" else turn for turn in turns
    ]
    lines = encoded(marked).split(b"\n")
    low = data.draw(st.integers(0, len(lines)))
    high = data.draw(st.integers(low, len(lines)))
    typed = data.draw(st.lists(st.sampled_from([b"", b"### typed by the USER", b"other words"]), max_size=3))
    page = read_page(b"\n".join([*lines[:low], *typed, *lines[high:]]))
    assert all("USER" not in text for role, text in said(turns_in(page, marked)) if role == "assistant")


def by_spans(page: BufferPage, turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """Who said what, by the bounds that an editor is told."""
    spans = spans_in(page, turns)
    bounds = [[Symbol(span.kind), [span.start + 1, span.end + 1, span.name]] for span in spans]
    return said(list(parse_pieces(page.body, bounds)))


def test_a_corrected_answer_is_a_changed_turn_of_the_assistant() -> None:
    turns = [replace(some_turn(1), role="user", seq=2), replace(some_turn(2), role="assistant", seq=3)]
    page = read_page(encoded(turns).replace(b"turn 2", b"turn two"))
    assert said(turns_in(page, turns)) == [
        ("user", "This is what was said in turn 1."),
        ("assistant", "This is what was said in turn two."),
    ]
    assert by_spans(page, turns) == said(turns_in(page, turns))


@given(conversations())
def test_bounds_of_somebody_who_had_not_read_ours_tell_of_what_is_new_and_of_nothing_else(turns: list[Turn]) -> None:
    old, new = BranchText(turns).body().decode(), "\n### More?\n\nYes, more.\n"
    start = len(old) + new.index("Yes") + 1
    bounds = f"((response ({start} {start + 10})))"
    theirs = f"<!-- Local Variables: -->\n<!-- gptel--bounds: {bounds} -->\n<!-- End: -->\n"
    text = encoded(turns).replace(old.encode(), f"{old}{new}".encode(), 1) + theirs.encode()
    page = read_page(text)
    now = [*said(turns), ("user", "More?"), ("assistant", "Yes, more.")]
    assert [one for one in said(turns_in(page, turns)) if one[1]] == [one for one in now if one[1]]


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_turn_that_was_removed_is_gone_and_the_others_are_as_they_were(gone: int) -> None:
    turns = [replace(some_turn(number), role=("user", "assistant")[number % 2], seq=number + 2) for number in range(3)]
    kept = turns[:gone] + turns[gone + 1 :]
    page = read_page(encoded(turns).replace(BranchText(turns).body(), BranchText(kept).body(), 1))
    assert turns_in(page, turns) == kept


def test_what_was_recorded_after_the_file_was_written_is_not_removed_by_editing_it() -> None:
    turns = [replace(some_turn(number), role="user", seq=number) for number in (2, 3)]
    data = BranchText(turns[:1]).encode(Upto(2, 0), {}).replace(b"turn 2", b"turn two")
    assert said(turns_in(read_page(data), turns))[-1] == ("user", "This is what was said in turn 3.")


def test_bounds_that_emacs_moved_say_who_said_what() -> None:
    turns = [replace(some_turn(number), role=("user", "assistant")[number % 2], seq=number + 2) for number in range(2)]
    body = BranchText(turns).body().decode() + "\n### More?\n\nYes, more.\n"
    start = body.index("Yes, more.") + 1
    old = BranchText(turns).bounds()
    new = f"{old[:-2]} ({start} {start + 10})))"
    data = encoded(turns).replace(BranchText(turns).body(), body.encode(), 1).replace(old.encode(), new.encode())
    page = read_page(data)
    assert page.variables[BOUNDS] == parse_lisp(new)
    assert said(turns_in(page, turns)) == [*said(turns), ("user", "More?"), ("assistant", "Yes, more.")]


# ── Taking it in ─────────────────────────────────────────────────────────────────────────────────────────────────────


@given(conversations(), st.data())
def test_what_was_taken_in_once_is_not_taken_in_again(turns: list[Turn], data: st.DataObject) -> None:
    """A crash may come after the events were written anew, and before the text was."""
    events: list[Event] = [replace(metadata("s"), seq=1), *turns]
    text = BranchText(turns).encode(Upto(len(events), 0), {"gptel-temperature": 0.8})
    lines = text.split(b"\n")
    low = data.draw(st.integers(0, len(lines)))
    high = data.draw(st.integers(low, min(len(lines), low + 4)))
    typed = data.draw(st.lists(st.sampled_from([b"", b"### typed", b"other words", b"same line"]), max_size=3))
    files = Files({"main": BranchFiles(b"\n".join([*lines[:low], *typed, *lines[high:]]))}, "main")
    once = assemble_session("s", events, files)
    if once.damages:
        return
    later = replace(some_turn(9, "recorded later"), seq=len(once.events) + 1)
    again = assemble_session("s", [*once.events, later], files)
    assert said(fold(again.events).turns) == said([*fold(once.events).turns, later])
