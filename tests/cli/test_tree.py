from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Segue


@pytest.fixture
def forked(cli: Segue) -> str:
    """main of three turns; `late` after two of them, `early` after one, and `deep` on `early`, which is active."""
    with cli.library.create(id="forked") as session:
        for text in ("Why does login fail?", "The token expires.", "Then refresh it."):
            session.add("user", text)
        session.fork(at=2, name="late")
        session.switch("main")
        session.fork(at=1, name="early")
        session.add("assistant", "The clock\nis wrong.")
        session.fork(name="deep")
    return "forked"


def test_every_branch_stands_under_the_one_it_grew_from_in_the_order_of_parting(cli: Segue, forked: str) -> None:
    assert cli.ok("tree", forked).splitlines() == [
        "  main        3 turns  Why does login fail?",
        "  ├─ early    1 turn after 1 of main  The clock is wrong.",
        "* │  └─ deep  0 turns after 2 of early",
        "  └─ late     0 turns after 2 of main",
    ]


def test_a_program_gets_the_tree_as_json(cli: Segue, forked: str) -> None:
    found = json.loads(cli.ok("tree", forked, "--json"))
    assert [(one["name"], one["parent"], one["active"]) for one in found] == [
        ("main", None, False),
        ("early", "main", False),
        ("deep", "early", True),
        ("late", "main", False),
    ]
    assert found[1]["first_words"] == "The clock is wrong."


def test_branches_as_deep_as_a_person_never_goes_are_drawn(cli: Segue) -> None:
    with cli.library.create(id="deep") as session:
        session.add("user", "on")
        for number in range(1200):
            session.fork(name=f"b{number}")
    lines = cli.ok("tree", "deep").splitlines()
    assert len(lines) == 1201
    assert lines[-1].lstrip("* ").startswith("└─ b1199")


def test_two_branches_part_where_their_turns_differ(cli: Segue, forked: str) -> None:
    text = cli.ok("diff", forked, "main", "deep")
    assert text.startswith("main and deep part after turn 1: user: Why does login fail?\n")
    assert text.index("- main: 2 more turns") < text.index("The token expires.") < text.index("+ deep: 1 more turn")
    found = json.loads(cli.ok("diff", forked, "main", "deep", "--json"))
    assert found["shared"] == 1
    assert [turn["content"] for turn in found["right"]["turns"]] == ["The clock\nis wrong."]


def test_a_branch_that_ends_where_the_other_goes_on_says_so(cli: Segue, forked: str) -> None:
    assert "+ late: no more turns" in cli.ok("diff", forked, "main", "late")


def test_a_branch_and_itself_say_the_same(cli: Segue, forked: str) -> None:
    assert cli.ok("diff", forked, "main", "main") == "main and main are identical: 3 turns\n"


def test_a_branch_that_is_not_there_is_named_with_those_that_are(cli: Segue, forked: str) -> None:
    assert "it has deep, early, late, main" in cli.refuses(3, "diff", forked, "main", "nowhere")
    assert "it has deep, early, late, main" in cli.refuses(3, "diff", forked, "nowhere", "main")


def test_the_sessions_of_subagents_are_below_the_branches_oldest_first(cli: Segue, forked: str) -> None:
    for title in ("look around", "read the log"):
        with cli.library.create(id=title.replace(" ", "-"), title=title, tags=[forked]) as session:
            session.add("user", "Go.")
    assert cli.ok("tree", forked).splitlines()[4:] == [
        "  look-around  1 turn  look around",
        "  read-the-log  1 turn  read the log",
    ]
    assert len(json.loads(cli.ok("tree", forked, "--json"))) == 4
