"""What users read is plain English: none of the words that Segue no longer uses, and summaries that fit on a line."""

from __future__ import annotations

import ast

import click
import pytest

from tests.docs import english
from tests.docs.english import TICS, Text, tics_in
from tests.docs.pages import ROOT

PLANTED = {
    "is no X": "x is no folder",
    "say": "SEGUE_STORE says it",
    "whoever": "Whoever answers",
    "stand": "the words stand in one place",
    "behind": "the line behind it",
    "go on": "it goes on in another tool",
    "one X a Y": "one file a session",
    "come back": "come back with segue resume",
    "anew": "the index is made anew",
    "beside": "the original beside it",
    "at hand": "the session at hand",
    "is kept": "no session is kept",
    "people": "for people and programs",
    "stranger": "a file of a stranger",
    "hold": "Hold a conversation",
    "let go": "let go of the lock",
    "odd": "an odd file",
    "so many": "Not more than so many.",
    "would not": "the machine would not",
    "a look": "a look at the file",
    "to the letter": "written to the letter",
    "contraction": "it doesn't work",
}


def test_what_users_read_has_none_of_the_words_that_are_not_used_any_more() -> None:
    assert [one.message for one in english.findings()] == []


@pytest.mark.parametrize("tic", TICS)
def test_each_of_the_words_is_found_where_it_is_planted(tic: str) -> None:
    planted = PLANTED[tic]
    messages = english.spoken(ast.parse(f"raise UsageError({planted!r})"))
    assert {one.tic for one in tics_in(Text("x.py", line, text) for line, text in messages)} == {tic}
    assert {one.tic for one in tics_in([Text("x.md", 1, english.prose(f"Then {planted} today."))])} == {tic}


def test_each_of_the_words_is_in_the_word_list() -> None:
    words = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Words")[2].partition("\n## ")[0]
    missing = [tic for tic in TICS if tic != "contraction" and f"`{tic}`" not in words]
    assert missing == []


def test_code_on_a_page_is_not_prose() -> None:
    page = "Prose `whoever` here.\n```console\n$ whoever\n```\nA [link](whoever.md).\n```text\nnobody\n```\n"
    assert list(tics_in([Text("page", 1, english.prose(page))])) == []
    assert english.prose(page).count("\n") == page.count("\n")


@pytest.mark.parametrize(
    "code",
    [
        "raise StorageError('x', hint='say --yes')",
        "output.warn('a' if b else f'{c} says so')",
        "click.option('--x', help='Whoever answers.')",
        "error.hint = f'{name} goes on'",
        "notify(f'left: {x}' + 'nobody')",
    ],
)
def test_text_for_the_user_is_found_wherever_it_is_passed(code: str) -> None:
    assert len(list(tics_in(Text("x.py", line, text) for line, text in english.spoken(ast.parse(code))))) == 1


def test_text_that_stays_inside_is_not_checked() -> None:
    assert list(english.spoken(ast.parse("kind = 'nobody'\nlookup('whoever')\nx = f('odd')"))) == []


def test_every_summary_is_shown_whole_in_the_help() -> None:
    cut = []
    for name, command in english.commands():
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name, terminal_width=80, max_content_width=80)
            shown = command.get_help(context)
            below = ((sub, command.get_command(context, sub)) for sub in command.list_commands(context))
            cut += [
                f"{name} {sub}" for sub, found in below if found is not None and english.summary_of(found) not in shown
            ]
    assert cut == []
