"""What an agent is told: its story, all that explains it, how to say what it did, and what failed before."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.dialects.ralph.openspec import Scenario, Story
from segue.model import Learning, Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.dialects.ralph.openspec import Plan


class Assignment(Struct, frozen=True, kw_only=True):
    """One story, for one attempt."""

    change: str
    story: Story
    scenarios: tuple[Scenario, ...]
    documents: dict[str, str]
    learnings: tuple[Learning, ...]
    patterns: tuple[Pattern, ...]
    session_id: str
    command: str
    """How `ralphtool` is called here."""
    verify: str = ""
    """The command that decides whether the story is done."""
    failure: str = ""
    """Of the attempt before."""


def assign(
    spec: Plan,
    story: Story,
    *,
    session_id: str,
    command: str,
    verify: str,
    learnings: tuple[Learning, ...] = (),
    patterns: tuple[Pattern, ...] = (),
    failure: str = "",
) -> Assignment:
    return Assignment(
        change=spec.change,
        story=story,
        scenarios=spec.scenarios(story),
        documents=dict(spec.context()),
        learnings=learnings,
        patterns=patterns,
        session_id=session_id,
        command=command,
        verify=verify,
        failure=failure,
    )


def prompt_of(assignment: Assignment) -> str:
    return "\n\n".join(_sections(assignment)) + "\n"


def _sections(told: Assignment) -> Iterator[str]:
    story = told.story
    yield f"You work on one story of the change {told.change}, in the project that you are in. Do this story, no other."
    if told.failure:
        yield f"# What failed the last time\n\nThis was tried before, and is not done yet:\n\n{told.failure}"
    tasks = "\n".join(f"- [{'x' if task.done else ' '}] {task.id} {task.text}" for task in story.tasks)
    yield f"# Story {story.id}: {story.title}\n\n{tasks}"
    yield _rules(told)
    if told.scenarios:
        yield "\n\n".join(["# What must hold", *[_scenario(one) for one in told.scenarios]])
    for name, text in told.documents.items():
        yield f"# The {name} of the change\n\n<{name}>\n{text.strip()}\n</{name}>"
    if told.learnings:
        yield "\n".join(["# Learned so far\n", *dict.fromkeys(f"- {one.description}" for one in told.learnings)])
    if told.patterns:
        patterns = dict.fromkeys(f"- {one.name}: {one.description}" for one in told.patterns)
        yield "\n".join(["# Patterns to follow\n", *patterns])


def _rules(told: Assignment) -> str:
    options = f"--session {told.session_id} --story {shlex.quote(told.story.id)}"
    end = f", and the command `{told.verify}` succeeds" if told.verify else ""
    return f"""# How to work

Run these commands in the shell; they are how others know what you did.

- As soon as a task is done: `{told.command} agent task done ID {options}`
- When you learned something that whoever comes next should know:
  `{told.command} agent learn "TEXT" --task ID {options}`
- When you found a way of doing things that should be followed:
  `{told.command} agent pattern "NAME" "TEXT" --session {told.session_id}`

The story is done when all its tasks are ticked by these commands{end}. Do not edit the boxes by hand."""


def _scenario(one: Scenario) -> str:
    return f"## {one.requirement}: {one.title}\n\n{one.text}"
