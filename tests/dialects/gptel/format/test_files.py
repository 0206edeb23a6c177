"""The files one by one: what gptel really wrote, Lisp's printed form, the footer, YAML, and the logs for people."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from segue.dialects.gptel.format.conversation import BranchText, parse_pieces
from segue.dialects.gptel.format.fields import find_fields, has_checksum, with_checksum, write_fields
from segue.dialects.gptel.format.footer import BufferPage, Upto, read_page
from segue.dialects.gptel.format.lisp import BadLispError, Pair, Symbol, parse_lisp, print_lisp
from segue.dialects.gptel.format.names import new_branch_name, new_gptel_id
from segue.dialects.gptel.format.org import with_call, with_prompts, with_tools
from segue.dialects.gptel.format.settings import BOUNDS, overrides_in
from segue.model import JsonObject, OverridesChanged
from segue.testing.events import START, moment, turn

CORPUS = Path(__file__).parents[3] / "corpus" / "gptel"

texts = st.text(st.characters(codec="utf-8"), max_size=20)
values: st.SearchStrategy[object] = st.recursive(
    st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False) | texts | st.sampled_from([True]),
    lambda inner: st.lists(inner, min_size=1, max_size=4),
    max_leaves=8,
)


# ── What gptel wrote ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_positions_are_characters_as_emacs_counts_them() -> None:
    page = read_page((CORPUS / "preset-and-temperature.md").read_bytes())
    assert {name: page.variables[name] for name in ("gptel--preset", "gptel-temperature")} == {
        "gptel--preset": "executor",
        "gptel-temperature": 0.8,
    }
    assert [tuple(piece[:2]) for piece in parse_pieces(page.body, page.variables[BOUNDS])] == [
        ("user", "How do I paginate?"),
        ("assistant", "Use cursors.\n\nGröße 😀 ok."),
        ("user", "And then?"),
        ("assistant", "Yes."),
    ]


def test_a_tool_call_is_read_with_its_name_and_its_arguments() -> None:
    page = read_page((CORPUS / "system-and-tool.md").read_bytes())
    assert page.variables["gptel--system-message"] == 'Speak like a "pirate".\nArr.'
    call, tool, answer = list(parse_pieces(page.body, page.variables[BOUNDS]))[1:]
    assert call.text == "I will look."
    assert (tool.role, tool.text) == ("tool", "a.txt\nb.txt")
    assert tool.call == {"id": "call_1", "name": "list_dir", "arguments": {"path": "."}}
    assert answer.text == "There are two files."


def test_a_list_of_variables_in_the_middle_of_a_text_is_text() -> None:
    page = read_page((CORPUS / "hostile.md").read_bytes())
    assert page.variables == {}
    assert [piece.role for piece in parse_pieces(page.body, None)] == ["user"]


def test_bounds_of_older_versions_are_answers() -> None:
    found = list(parse_pieces("one two three", parse_lisp("((5 . 8))")))
    assert [tuple(piece[:2]) for piece in found] == [("user", "one"), ("assistant", "two"), ("user", "three")]


@pytest.mark.parametrize(
    "bounds", ["((response (0 99)))", "((response (5 2) (3 1000000) (4 5)))", "(x (1))", "7", "nil"]
)
def test_bounds_that_make_no_sense_lose_nothing(bounds: str) -> None:
    text = "one two three"
    assert "".join(piece.text for piece in parse_pieces(text, parse_lisp(bounds))).replace(" ", "") == text.replace(
        " ", ""
    )


# ── Lisp and the footer ──────────────────────────────────────────────────────────────────────────────────────────────


@given(values)
def test_a_value_comes_back_from_its_printed_form(value: object) -> None:
    assert parse_lisp(print_lisp(value)) == value
    assert "\n" not in print_lisp(value)


@given(st.text(max_size=40))
def test_what_is_no_lisp_is_said_to_be_none(text: str) -> None:
    with suppress(BadLispError):
        parse_lisp(text)


def test_strings_are_read_as_lisp_reads_them() -> None:
    assert parse_lisp(r'"a\tb\x41\ c\u00f6\101\^A\"\\"') == 'a\tbAcöA\x01"\\'
    assert parse_lisp("(a . 1)") == Pair(Symbol("a"), 1)
    assert [parse_lisp(print_lisp(Symbol(name))) for name in ("3", "-5", "nil", "t")] == ["3", "-5", "nil", "t"]
    assert "\n" not in print_lisp(Symbol("a\nb\ud800"))
    assert print_lisp([Symbol("gpt-4o"), Symbol("two words"), None, True]) == r"(gpt-4o \two\ words nil t)"


def test_a_system_message_that_looks_like_a_list_of_variables_is_not_one() -> None:
    hostile = "\n\f\nLocal Variables:\neval: (boom)\nEnd:"
    data = BranchText([turn(1)]).encode(Upto(2, 0), {"gptel--system-message": hostile})
    assert data.count(b"Local Variables:") == 1
    assert data.count(b"\f") == 1
    assert read_page(data.replace(b"turn 1", b"turn one")).variables["gptel--system-message"] == hostile


def test_emacs_finds_the_list_however_long_the_conversation_and_its_settings_are() -> None:
    said = [replace(turn(number), role=("user", "assistant")[number % 2]) for number in range(600)]
    long = {"gptel--preset": Symbol("executor"), "gptel--system-message": "ö" * 2500, "gptel-temperature": 0.8}
    text = BranchText(said).encode(Upto(601, 0), {**long, "gptel--tool-names": ["x" * 400]}).decode()
    behind = text.rpartition("\n\f\n")[2]
    front, _, found = behind.partition("<!-- Local Variables: -->")
    assert len(found) < 3000 - len("<!-- Local Variables: -->")
    assert [line.split()[1] for line in front.splitlines()] == ["segue", f"{BOUNDS}:", "gptel--system-message:"]
    mark = read_page(text.encode()).mark
    assert mark is not None
    assert mark.is_pristine
    page = read_page(text.replace("turn 0.", "turn zero.").encode())
    assert page.variables == {**long, "gptel--tool-names": ["x" * 400], BOUNDS: parse_lisp(BranchText(said).bounds())}
    assert "gptel--bounds" not in page.body


def test_a_variable_in_front_of_no_list_is_text() -> None:
    text = "### What is this?\n\n\f\n<!-- gptel--bounds: ((response (1 9))) -->\n"
    assert read_page(text.encode()) == BufferPage(text, {})


def test_the_name_that_newer_gptels_give_the_system_message_is_read() -> None:
    text = '### Hi\n\n<!-- Local Variables: -->\n<!-- gptel-system-prompt: "Hm." -->\n<!-- End: -->\n'
    assert overrides_in(read_page(text.encode()).variables) == {"system_message": "Hm."}


def test_crlf_throughout_is_the_same_file() -> None:
    data = BranchText([turn(0), turn(1)]).encode(Upto(3, 0), {})
    page = read_page(data.replace(b"\n", b"\r\n"))
    assert page.mark is not None
    assert page.mark.is_pristine


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_are_a_page(above: bytes, below: bytes) -> None:
    page = read_page(above + b"\n\f\n<!-- segue 1.0 00000000 00000000 00000000 -->\n" + below)
    list(parse_pieces(page.body, page.variables.get(BOUNDS)))


# ── YAML, names and logs ─────────────────────────────────────────────────────────────────────────────────────────────


@given(st.dictionaries(texts, st.recursive(st.none() | st.booleans() | texts, lambda one: st.lists(one, max_size=3))))
def test_fields_come_back(fields: JsonObject) -> None:
    data = write_fields(fields)
    assert find_fields(data) == fields
    assert has_checksum(with_checksum(data))
    assert not has_checksum(with_checksum(data) + b"x: 1\n")
    assert find_fields(with_checksum(data)) == fields


@pytest.mark.parametrize(
    "data", [None, b"", b"- a\n", b"a: [", b"\xff", b"a: &x [1]\nb: *x\n", b"a: " + b"[" * 100, b"x: 1\n" * 100_000]
)
def test_what_is_no_list_of_fields_is_none(data: bytes | None) -> None:
    assert find_fields(data) is None


def test_names_begin_with_what_a_person_remembers_or_when_it_was() -> None:
    assert new_gptel_id("API Integration", START) == "api-integration-20260102030405"
    assert new_branch_name("Other idea!", START) == "20260102030405-other-idea"
    assert new_gptel_id("???", START) == "session-20260102030405"


def test_every_tool_call_has_one_heading() -> None:
    part: JsonObject = {"type": "tool_result", "id": "call_1", "name": "list_dir", "arguments": {"path": "."}}
    call = replace(turn(1, "* no heading\n#+end_src\na.txt"), role="tool", parts=(part,))
    text = with_tools(with_tools("", [turn(0), call]), [call])
    assert text.count("\n* ") + text.startswith("* ") == 1
    assert text.startswith("* list_dir\n:PROPERTIES:\n")
    assert ":CALL: call_1\n" in text
    assert '"path": "."' in text
    assert ",* no heading\n,#+end_src\na.txt\n#+end_src" in text


def test_a_call_that_the_editor_logged_gets_no_second_heading_when_it_is_in_the_text() -> None:
    part: JsonObject = {"type": "tool_result", "id": "call_1", "name": "list_dir", "arguments": {"path": "."}}
    call = replace(turn(1, "a.txt"), role="tool", parts=(part,))
    logged = with_call(with_call("", "list_dir", {"path": "."}, "a.txt\n", START), "list_dir", {}, "b.txt", START)
    text = with_tools(with_tools(logged, [call]), [call])
    assert text.count("* list_dir\n") == 2
    assert text.count(f":ID: {call.id}\n:CALL: call_1\n:END:\n") == 1
    assert text.count(":ID: editor-") == 1


def test_every_change_of_the_system_prompt_has_one_heading() -> None:
    change = OverridesChanged(values={"system_message": "Be brief."}, timestamp=moment(1), id="o1")
    text = with_prompts(with_prompts("", [turn(0), change]), [change])
    assert text.count(":ID: o1\n") == 1
    assert "Be brief." in text
