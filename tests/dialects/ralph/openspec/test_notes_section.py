"""Items are added to their section, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from segue.dialects.ralph.openspec.checklist import parse_checklist
from segue.dialects.ralph.openspec.markdown import parse_heading, prose_lines
from segue.dialects.ralph.openspec.notes_section import add_items, format_item

ITEM = "Tokens last an hour"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## Learnings\n\n- {}\n"),
        ("# Design\n", "# Design\n\n## Learnings\n\n- {}\n"),
        ("# Design", "# Design\n\n## Learnings\n\n- {}\n"),
        ("# Design\r\n", "# Design\r\n\r\n## Learnings\r\n\r\n- {}\r\n"),
        ("## Learnings\n", "## Learnings\n\n- {}\n"),
        ("## Learnings\n\n- old\n", "## Learnings\n\n- old\n- {}\n"),
        ("## Learnings\n\n- old", "## Learnings\n\n- old\n- {}\n"),
        ("## Learnings\n\n- old  \n\n\n## Risks\n\nNone.\n", "## Learnings\n\n- old  \n- {}\n\n\n## Risks\n\nNone.\n"),
        ("## Learnings\n- old\n## Risks\n", "## Learnings\n- old\n- {}\n## Risks\n"),
        ("## Learnings\n\nWords.\n\n# End\n", "## Learnings\n\nWords.\n\n- {}\n\n# End\n"),
        ("## learnings\n\n### Deeper\n\n- old\n\n## Next\n", "## learnings\n\n### Deeper\n\n- old\n- {}\n\n## Next\n"),
        ("## Learnings\r\n\r\n- old\r\n\r\n## X\r\n", "## Learnings\r\n\r\n- old\r\n- {}\r\n\r\n## X\r\n"),
        ("```\n## Learnings\n```\n", "```\n## Learnings\n```\n\n## Learnings\n\n- {}\n"),
        ("## Learnings\n\n```\n## X\n```\n\n## Y\n", "## Learnings\n\n```\n## X\n```\n\n- {}\n\n## Y\n"),
    ],
)
def test_an_item_goes_to_the_end_of_its_section(before: str, after: str) -> None:
    assert add_items(before, "Learnings", [ITEM]) == after.format(ITEM)


def test_what_is_there_already_is_not_added_again() -> None:
    once = add_items("# Design\n\n## Learnings\n\n## Risks\n", "Learnings", ["a", "b", "a"])
    assert add_items(once, "Learnings", ["b", "a"]) == once
    assert once.count("- a\n") == 1


def test_the_same_words_in_another_section_do_not_count() -> None:
    assert add_items("## Risks\n\n- a\n", "Learnings", ["a"]) == "## Risks\n\n- a\n\n## Learnings\n\n- a\n"


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("two\n## lines\r\n", "two\n\\## lines"),
        ("[ ] 1.1 no task", "\\[ ] 1.1 no task"),
        ("see\n  1. [x] 1.1 no task", "see\n  1. \\[x] 1.1 no task"),
        ("open <!-- comment", "open &lt;!-- comment"),
        ("no title\n===\n---", "no title\n\\===\n\\---"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("half \ud800", "half \\ud800"),
        ("to the \u202eleft", "to the \\u202eleft"),
        ("u\u2028v", "u\nv"),
    ],
)
def test_an_item_is_nothing_but_text_whatever_an_agent_says(text: str, item: str) -> None:
    assert format_item(text) == item


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻 \U0001fae8 \U0001fadf",  # joined, and newer than this Python knows
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "see:\n\n```py\nfor  x in y:\n    # once\n    f(x)\n```",
        "~~~\n- [ ] 1.1 in code\n<!-- too -->\n~~~\nand on",
        "pasted:\n\n    if a:\n        # deep\n        b()",
        "x = a[0]  * b",
    ],
)
def test_joiners_emoji_and_code_come_through_to_the_letter(text: str) -> None:
    assert format_item(text) == text
    lines = add_items("", "Learnings", [text]).removeprefix("## Learnings\n\n").split("\n")
    assert "\n".join([line[2:] for line in lines]).strip("\n") == text


def test_what_it_is_about_stands_behind_the_text_and_never_in_its_code() -> None:
    assert format_item("Done", " (task 1)") == "Done (task 1)"
    assert format_item("So:\n```\nls\n```", " (task 1)") == "So:\n```\nls\n```\n(task 1)"


PIECES = (
    *(
        "word",
        "##",
        "# ",
        "- ",
        "* ",
        "1. ",
        "[ ] ",
        "[x] ",
        "1.1 ",
        "```",
        "````",
        "~~~",
        "`",
        "<!--",
        "-->",
        "---",
        "===",
    ),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "  ",
        "    ",
        "\t",
        "\\",
        "> ",
        "Learnings",
        "\u200d",
        "\u2028",
        "\x1b",
        "\ud800",
        "<pre>",
        "é",
    ),
)
AROUND = """# Plan

## 1. First

- [ ] 1.1 Do it
- [x] 1.2 Done

## Learnings

- old

## 2. Second

- [ ] 2.1 Later
"""


@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=25).map("".join), min_size=1, max_size=3))
def test_no_text_of_an_agent_changes_the_plan_or_reaches_beyond_its_section(texts: list[str]) -> None:
    items = [format_item(text, " (story 1)") for text in texts if text.strip()]
    for around in ("", AROUND):
        written = add_items(around, "Learnings", items)
        for deepest in (2, 6):
            assert (
                parse_checklist(written, deepest_heading=deepest).stories
                == parse_checklist(around, deepest_heading=deepest).stories
            )
        assert add_items(written, "Learnings", items) == written
        assert written.endswith(around.partition("- old\n")[2])
        headings = [parse_heading(line) for line in prose_lines(written) if parse_heading(line)]
        assert [one.title for one in headings if one] == [
            title for title in ("Plan", "1. First", "Learnings", "2. Second") if around or title == "Learnings"
        ] or not items
        tokens = MarkdownIt().parse(written)
        top = [token for token in tokens if token.type == "heading_open" and token.level == 0]
        assert len(top) == (4 if around else bool(items))
