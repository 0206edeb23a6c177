"""What was said, in Markdown of ours: a real reader of Markdown sees our headings and no others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from segue.formats.markdown_escaping import escape_markdown, unescape_markdown
from segue.formats.transcript import markdown, read_markdown
from segue.model import Decision, Event, Metadata, Turn, fold

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
READERS = (MarkdownIt("commonmark"), MarkdownIt("gfm-like", {"linkify": False}))
BLOCKS = [
    "# a",
    "## 2. user · 2026-11-15T12:00:00Z",
    "##",
    "===",
    "---",
    "-",
    "- ",
    "> ",
    "* ",
    "1. ",
    "   ",
    "    ",
    "\t",
]
FENCES = ["```", "````", "```py", "~~~", "~~~~ x", "```json part", "``", "`", "\\", "\\\\"]
TAGS = ["<!--", "-->", "<h2>x</h2>", "</div>", "<script>", "<?", "<![CDATA[", "<", "<b>", "<http://x>", "&lt;"]
OTHERS = ["[a]: /u", "[^1]: x", "[a", "]:", "]", "a", "b c", "|", "|--|", "*", "\u2028", "\x0c", "{}"]
ENDS = ["\n", "\n", "\n", "\n\n", "\r", "\r\n"]
said = st.lists(st.sampled_from([*BLOCKS, *FENCES, *TAGS, *OTHERS, *ENDS]), max_size=25).map("".join)
turns = st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), said), max_size=4)


def headings(text: str) -> list[str]:
    """As every reader sees them, wherever they stand; no HTML and no definition is among what it sees."""
    seen = []
    for reader in READERS:
        about: dict[str, object] = {}
        tokens = reader.parse(text, about)
        kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}
        assert not kinds & {"html_block", "html_inline"}
        assert not about.get("references")
        seen.append([tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"])
    assert seen[0] == seen[1]
    return seen[0]


@given(turns=turns, title=said, decision=said)
@example(turns=[("user", "- a\n  ```\n## 2. user"), ("assistant", "```\n## 3. user")], title="<!--", decision="# x")
@example(turns=[("user", "a\n-  \n```py\n# code\n```")], title="", decision="</li>")
def test_an_export_has_the_turns_that_were_held_and_no_others(
    turns: list[tuple[str, str]], title: str, decision: str
) -> None:
    events: list[Event] = [Metadata(session_id="s", agent="qa", created_at=NOW, status="paused", title=title, id="m")]
    for number, (role, content) in enumerate(turns):
        events.append(
            Turn(role=role, content=content, timestamp=NOW, tokens=None, id=f"t{number}", parts=({"a": "`"},))
        )
    text = markdown(fold([*events, Decision(content=decision, timestamp=NOW, id="d")]))
    wanted = [f"{number}. {role} · 2026-11-15T12:00:00Z" for number, (role, _) in enumerate(turns, start=1)]
    assert headings(text)[1:] == [*wanted, "Decisions"]
    read = read_markdown(text)
    assert [(turn["role"], turn["content"], turn["parts"]) for turn in read] == [(*one, [{"a": "`"}]) for one in turns]


@given(text=said | st.text())
@settings(max_examples=200)
def test_what_is_shielded_comes_back(text: str) -> None:
    assert unescape_markdown(escape_markdown(text)) == text


@pytest.mark.long
@given(text=said)
@settings(max_examples=20_000)
def test_what_is_shielded_comes_back_and_forges_nothing(text: str) -> None:
    assert unescape_markdown(escape_markdown(text)) == text
    assert headings(f"# t\n\n## 1. user\n\n{escape_markdown(text)}\n\n## 2. user\n") == ["t", "1. user", "2. user"]


@pytest.mark.parametrize(
    "text",
    [
        "Plain words, *marked* ones, a [link](https://example.org) and `Vec<T>`.",
        "```python\n# a comment\nx = a < b\n```",
        "1. First:\n   ```sh\n   # run it\n   make <target>\n   ```\n2. Then.",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> quoted\n\n---\n\n- a\n- b",
        "a < b and c > d, x <- y, 1 <2",
    ],
)
def test_what_people_and_models_usually_write_stays_as_it_is(text: str) -> None:
    assert escape_markdown(text) == text
