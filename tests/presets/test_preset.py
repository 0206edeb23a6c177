"""What a file says and what becomes of it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segue.formats.yaml import DEPTH, NODES
from segue.presets.frontmatter import FRONT_BYTES, InvalidFrontMatterError, parse_front_matter
from segue.presets.preset import InvalidFieldError, Preset, parse_preset

REVIEWER = """\
---
name: reviewer
description: Reads code for bugs
tools: Read, Grep, Bash(git log:*, git diff:*)
model: sonnet
---

You review code.

Be short.
"""


def read(text: str, *, name: str = "file") -> Preset:
    document = parse_front_matter(text)
    return parse_preset(document.fields, document.body, name=name)


def test_front_matter_gives_the_settings_and_the_rest_is_the_prompt() -> None:
    assert read(REVIEWER) == Preset(
        name="reviewer",
        description="Reads code for bugs",
        tools=("Read", "Grep", "Bash(git log:*, git diff:*)"),
        model="sonnet",
        system_prompt="You review code.\n\nBe short.",
    )


def test_every_field_has_its_place_and_the_others_are_kept() -> None:
    preset = read(
        "---\nname: executor\nbackend: Claude\ntemperature: 0.3\ntools:\n  - read_file\n  - run\n"
        "parents: [base, careful]\nscope_profile: coding\nconfirm-tool-calls: auto\n"
        "color: red\nsince: 2026-01-02\nlimits: {cpu: 2, no: no}\n---\n"
    )
    assert (preset.backend, preset.temperature, preset.tools) == ("Claude", 0.3, ("read_file", "run"))
    assert (preset.parents, preset.scope_profile, preset.confirm_tool_calls) == (("base", "careful"), "coding", "auto")
    assert preset.extra == {"color": "red", "since": "2026-01-02", "limits": {"cpu": 2, "no": "no"}}
    assert preset.system_prompt == ""


@pytest.mark.parametrize(
    "text",
    [REVIEWER.replace("\n", "\r\n"), f"\ufeff{REVIEWER}", REVIEWER.replace("---\n", "--- \t\n"), REVIEWER.rstrip()],
    ids=["crlf", "bom", "blanks behind the fences", "no newline at the end"],
)
def test_how_an_editor_saved_the_file_makes_no_difference(text: str) -> None:
    assert read(text) == read(REVIEWER)


def test_a_file_without_front_matter_is_a_prompt_under_the_name_of_the_file() -> None:
    assert read("You are terse.\n\n---\n\nVery.", name="terse") == Preset(
        name="terse", system_prompt="You are terse.\n\n---\n\nVery."
    )


def test_a_rule_in_the_body_stays_in_the_body() -> None:
    assert read("---\nname: a\n---\none\n---\ntwo").system_prompt == "one\n---\ntwo"


def test_a_description_with_colons_needs_no_quotes() -> None:
    told = r'Use it when: the user says so. Examples:\n<example>\nuser: "Fix #3" # now\n</example>'
    preset = read(f"---\nname: helper\ndescription: {told}\ntools: Read, Bash\nmodel: opus\n---\nHelp.")
    assert preset.description == told
    assert (preset.name, preset.tools, preset.model) == ("helper", ("Read", "Bash"), "opus")


def test_words_that_older_yaml_takes_for_yes_and_no_are_words() -> None:
    assert read("---\nname: no\ndescription: on\n---\nx").name == "no"


def test_an_empty_field_is_one_that_is_not_there() -> None:
    assert read("---\nname:\ndescription:\ntemperature:\ntools:\n---\nx", name="file") == Preset(
        name="file", system_prompt="x"
    )


@pytest.mark.parametrize(
    ("front", "reason", "line"),
    [
        ("name: [a", "not YAML", 2),
        ("name: a\n\tb: c", "not YAML", 3),
        ("- a\n- b", "not a list of fields", 2),
        ("just words", "not a list of fields", 2),
        ("name: a\nname: b", "not YAML", 3),
        ("name: !!python/object/apply:os.system [id]", "not YAML", 2),
        ("name: !!binary aGk=", "contains bytes", 0),
        ("when: 2026-99-99", "impossible value", 0),
        ("big: " + "9" * 10_000, "impossible value", 0),
        ("a: &x [1]\nb: *x", "contains a reference", 3),
        ("a: " + "[" * (DEPTH + 5), "nested more than", 2),
        ("a: [" + "1," * (NODES + 5) + "]", "too many values", 2),
        ("a: " + "x" * FRONT_BYTES, "larger than", 1),
    ],
)
def test_front_matter_that_cannot_be_trusted_is_refused_with_its_place(front: str, reason: str, line: int) -> None:
    with pytest.raises(InvalidFrontMatterError, match=reason) as refused:
        parse_front_matter(f"---\n{front}\n---\nbody")
    assert refused.value.line == line


def test_front_matter_without_an_end_is_refused() -> None:
    with pytest.raises(InvalidFrontMatterError, match="no end"):
        parse_front_matter("---\nname: a\nbody")


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    layers = [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    with pytest.raises(InvalidFrontMatterError, match="contains a reference"):
        parse_front_matter("\n".join(["---", 'a: &a ["x"]', *layers, "---"]))


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("name: 7", "name must be a text, not 7: put it in quotes"),
        ("name: ' '", "name is empty"),
        ('name: "two\\nlines"', "one line"),
        ('name: "\\u202egnp"', "visible characters"),
        ("model: [a]", "model must be a text, not a list"),
        ("model: 4.10", "put it in quotes"),
        ("temperature: hot", "temperature must be a number from 0 to 2, not 'hot'"),
        ("temperature: true", "must be a number from 0 to 2, not true"),
        ("temperature: 3", "from 0 to 2, not 3"),
        ("temperature: .nan", "must be a number"),
        ("tools: {a: b}", "tools must be a list, or one text with commas, not a table"),
        ("tools: [[a]]", "tools must contain texts, not a list"),
        ("confirm-tool-calls: maybe", "must be true, false or auto"),
        ("scope-profile: a\nscope_profile: b", "is set twice"),
    ],
)
def test_a_field_that_cannot_be_meant_is_named_with_the_reason(front: str, reason: str) -> None:
    with pytest.raises(InvalidFieldError, match=reason):
        read(f"---\n{front}\n---\nbody")


@given(st.text(st.sampled_from(" \n\t:-[]{}&*!|>'\"#%@,?ab1~<\\\0\x85\u2028é"), max_size=60))
@example("? [a]\n: b")
@example("!!timestamp x")
@example("<<: 1")
@example("0o9: 1_0")
@example("{a: !!set {b}}")
def test_whatever_a_file_holds_it_is_read_or_refused(front: str) -> None:
    with suppress(InvalidFrontMatterError, InvalidFieldError):
        document = parse_front_matter(f"---\n{front}\n---\nbody")
        assert parse_preset(document.fields, document.body, name="file").system_prompt.endswith("body")


@given(st.text(max_size=200))
def test_whatever_a_file_without_front_matter_holds_is_its_prompt(text: str) -> None:
    if not text.removeprefix("\ufeff").startswith("---"):
        assert parse_front_matter(text).fields == {}
