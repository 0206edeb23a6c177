"""What an agent is told."""

from __future__ import annotations

from msgspec.structs import replace

from segue.dialects.ralph.openspec import Scenario, Story, Task
from segue.dialects.ralph.runner.prompt import Assignment, render_prompt
from segue.model import EPOCH, Learning, Pattern

STORY = Story(
    id="write the docs",
    title="Docs",
    tasks=(Task(id="1.1", text="Begin", done=True), Task(id="1.2", text="End", done=False)),
)
PLAIN = Assignment(
    change="login",
    story=STORY,
    scenarios=(),
    documents={},
    learnings=(),
    patterns=(),
    session_id="s1",
    command="ralphtool",
)


def test_it_names_the_story_its_tasks_and_how_to_tick_them() -> None:
    told = render_prompt(PLAIN)
    assert "# Story write the docs: Docs\n\n- [x] 1.1 Begin\n- [ ] 1.2 End\n" in told
    assert "`ralphtool agent task done ID --session s1 --story 'write the docs'`" in told
    assert 'ralphtool agent learn "TEXT" --task ID --session s1' in told
    assert "# What failed" not in told
    assert "# Learned" not in told


def test_everything_that_is_known_is_told() -> None:
    told = render_prompt(
        replace(
            PLAIN,
            scenarios=(Scenario(capability="auth", requirement="Tokens", title="Expired", text="- **WHEN** late"),),
            documents={"proposal": "## Why\n\nTokens expire.\n"},
            learnings=(Learning(description="They last an hour", timestamp=EPOCH, id="l"),),
            patterns=(Pattern(name="Retry", description="Twice", timestamp=EPOCH, id="p"),),
            verify="pytest -q",
            failure="`pytest -q` ended with exit code 1",
        )
    )
    for text in (
        "## Tokens: Expired\n\n- **WHEN** late",
        "<proposal>\n## Why\n\nTokens expire.\n</proposal>",
        "- They last an hour",
        "- Retry: Twice",
        "and the command `pytest -q` succeeds",
        "not done yet:\n\n`pytest -q` ended with exit code 1",
    ):
        assert text in told
