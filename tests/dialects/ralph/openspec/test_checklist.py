"""Stories and tasks of Markdown, and the one box that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.dialects.ralph.openspec import find_next
from segue.dialects.ralph.openspec.checklist import mark_task, parse_checklist
from segue.errors import NotFoundError

if TYPE_CHECKING:
    import random

PLAN = """# Tasks

## 1. Log in

- [ ] 1.1 Refresh the token
- [x] 1.2 Tell the person
  - [ ] 1.2.1 In their language
* [X] 1.10 Log out again

## 2. Look around

## 3. Leave
+ [ ] 3.1 Say good-bye
"""


def ids(text: str, *, deepest: int = 2) -> dict[str, list[str]]:
    stories = parse_checklist(text, deepest_heading=deepest).stories
    return {story.id: [task.id for task in story.tasks] for story in stories}


def ticked(text: str, story: str, task: str, *, deepest: int = 2) -> str:
    return mark_task(text, story, task, done=True, deepest_heading=deepest)


def changed(before: str, after: str) -> list[int]:
    assert len(before) == len(after)
    return [at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]


def test_stories_are_numbered_headings_and_tasks_are_boxes() -> None:
    assert ids(PLAN) == {"1": ["1.1", "1.2", "1.2.1", "1.10"], "2": [], "3": ["3.1"]}
    first = parse_checklist(PLAN, deepest_heading=2).stories[0]
    assert (first.title, first.done, first.complete) == ("Log in", 2, False)
    assert [(task.text, task.done) for task in first.tasks] == [
        ("Refresh the token", False),
        ("Tell the person", True),
        ("In their language", False),
        ("Log out again", True),
    ]


def test_a_story_without_tasks_is_complete() -> None:
    stories = parse_checklist(PLAN, deepest_heading=2).stories
    assert stories[1].complete
    done = PLAN.replace("[ ]", "[x]", 2)
    following = find_next(parse_checklist(done, deepest_heading=2).stories)
    assert following is not None
    assert following.id == "3"


def test_ticking_1_1_never_ticks_1_10() -> None:
    text = PLAN.replace("[X]", "[ ]")
    (at,) = changed(text, ticked(text, "1", "1.1"))
    assert text[at - 3 : at + 6] == "- [ ] 1.1"
    (at,) = changed(text, ticked(text, "1", "1.10"))
    assert text[at - 3 : at + 7] == "* [ ] 1.10"


def test_a_nested_task_is_ticked_alone() -> None:
    (at,) = changed(PLAN, ticked(PLAN, "1", "1.2.1"))
    assert PLAN[at:].startswith(" ] 1.2.1")


def test_ticking_what_is_done_changes_nothing() -> None:
    assert ticked(PLAN, "1", "1.2") == PLAN
    assert ticked(PLAN, "1", "1.10") == PLAN


def test_a_task_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError, match=r"there is no task '1\.3'"):
        ticked(PLAN, "1", "1.3")


def test_two_tasks_of_one_number_are_each_ticked_in_their_story() -> None:
    text = "## 1. A\n- [ ] 1 a\n- [ ] 1 b\n## 2. B\n- [ ] 1 c\n- [ ] 2 d\n"
    assert ids(text) == {"1": ["1", "1-2"], "2": ["1", "2"]}
    for story, task, line in (("1", "1", "1 a"), ("1", "1-2", "1 b"), ("2", "1", "1 c")):
        after = ticked(text, story, task)
        assert after == text.replace(f"[ ] {line}", f"[x] {line}")
        assert mark_task(after, story, task, done=False, deepest_heading=2) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n- [ ] 1.1 x\n```",
        "~~~md\n- [ ] 1.1 x\n```\n- [ ] 1.1 y\n~~~",
        "````\n```\n- [ ] 1.1 x\n```\n````",
        "- item\n  ```\n  - [ ] 1.1 x\n  ```",
        "<!-- - [ ] 1.1 x -->",
        "<!--\n- [ ] 1.1 x\n-->",
        "text <!-- and\n- [ ] 1.1 x\n--> more",
        "text\n\n    - [ ] 1.1 x",
        "- [] 1.1 x",
        "- [ ]1.1 x",
        "- [-] 1.1 x",
        "text - [ ] 1.1 x",
        "```\n- [ ] 1.1 x",
        "<!--\n- [ ] 1.1 x",
    ],
)
def test_code_comments_and_what_is_no_box_hold_no_tasks(hidden: str) -> None:
    assert ids(f"## 1. A\n\n{hidden}\n") == {"1": []}


@pytest.mark.parametrize(
    "shown",
    [
        "```\ncode\n```\n- [ ] 1.1 x",
        "`<!--` opens a comment\n- [ ] 1.1 x\n\n-->",
        "- [ ] 1.1 x <!-- a note -->",
        "- [ ] 1.1 x <!-- never closed",
        "- item\n  ```\n  code without an end\n- [ ] 1.1 x",
        "- item\n\n    - [ ] 1.1 x",
        "1. [ ] 1.1 x",
        "- a\n\t- [ ] 1.1 x",
        "- [ ] **1.1** x",
        "- [ ] 1.1. x",
        "- [ ] 1.1",
    ],
)
def test_what_is_a_task_is_found(shown: str) -> None:
    assert ids(f"## 1. A\n\n{shown}\n") == {"1": ["1.1"]}


def test_headings_without_numbers_are_stories_where_they_have_tasks() -> None:
    text = "# Plan\n\n- [ ] Begin\n\n## Why\n\nBecause.\n\n### Set up\n\n- [ ] Buy it\n- [ ] Buy it\n- [ ] 日本\n"
    found = ids(text, deepest=6)
    assert list(found) == ["plan", "set-up"]
    assert found["plan"] == ["begin"]
    assert found["set-up"][:2] == ["buy-it", "buy-it-2"]
    assert found["set-up"][2].startswith("task-")


def test_the_name_of_a_task_stays_when_another_comes_before_it() -> None:
    text = "## Set up\n- [ ] Install it\n"
    later = text.replace("- [ ]", "- [ ] Buy it\n- [ ]")
    assert ticked(later, "set-up", "install-it", deepest=6) == later.replace("[ ] Install", "[x] Install")


def test_headings_below_a_story_belong_to_it() -> None:
    assert ids("## 1. A\n### Details\n- [ ] 1.1 x\n## 2. B\n- [ ] 2.1 y\n") == {"1": ["1.1"], "2": ["2.1"]}


def test_carriage_returns_and_odd_characters_stay() -> None:
    text = "## 1. A\r\n- [ ] 1.1 a\u2028b\x85\x0c\r\n- [ ] 1.2 c\r\n"
    assert ids(text) == {"1": ["1.1", "1.2"]}
    assert ticked(text, "1", "1.2") == text.replace("[ ] 1.2", "[x] 1.2")


def test_every_task_of_thousands_is_ticked_by_itself(rng: random.Random) -> None:
    lines = [f"## {story}. S\n" + "".join(f"- [ ] {story}.{n} t\n" for n in range(1, 101)) for story in range(1, 51)]
    text = "".join(lines)
    for _ in range(20):
        task = f"{rng.randrange(1, 51)}.{rng.randrange(1, 101)}"
        (at,) = changed(text, ticked(text, task.partition(".")[0], task))
        assert text[at:].startswith(f" ] {task} t\n")


@given(
    st.lists(st.sampled_from([*"-*+#`~<>![] x.1\n\t\r", "- [ ] 1.1 a\n", "```\n", "<!--", "-->", "## 1. A\n", "    "]))
)
def test_whatever_the_text_is_a_tick_changes_one_character(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = parse_checklist(text, deepest_heading=6)
    for story in found.stories:
        for task in story.tasks:
            after = ticked(text, story.id, task.id, deepest=6)
            assert len(changed(text, after)) == (0 if task.done else 1)
