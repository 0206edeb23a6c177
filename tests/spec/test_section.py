"""Items are added to their section, and nothing else changes."""

from __future__ import annotations

import pytest

from segue.spec.section import as_item, with_items

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
    assert with_items(before, "Learnings", [ITEM]) == after.format(ITEM)


def test_what_is_there_already_is_not_added_again() -> None:
    once = with_items("# Design\n\n## Learnings\n\n## Risks\n", "Learnings", ["a", "b", "a"])
    assert with_items(once, "Learnings", ["b", "a"]) == once
    assert once.count("- a\n") == 1


def test_the_same_words_in_another_section_do_not_count() -> None:
    assert with_items("## Risks\n\n- a\n", "Learnings", ["a"]) == "## Risks\n\n- a\n\n## Learnings\n\n- a\n"


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("two\n## lines\r\n", "two ## lines"),
        ("[ ] 1.1 no task", "\\[ ] 1.1 no task"),
        ("open <!-- comment", "open &lt;!-- comment"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("half \ud800", "half \\ud800"),
        ("u\u2028v", "u v"),
    ],
)
def test_an_item_is_one_line_of_text_whatever_an_agent_says(text: str, item: str) -> None:
    assert as_item(text) == item
