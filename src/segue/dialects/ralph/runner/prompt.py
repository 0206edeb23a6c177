"""The prompt of an agent: its story, the documents about it, how to report its work, and what failed before."""

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
    """One story for one attempt."""

    change: str
    story: Story
    scenarios: tuple[Scenario, ...]
    documents: dict[str, str]
    learnings: tuple[Learning, ...]
    patterns: tuple[Pattern, ...]
    session_id: str
    command: str
    """The command line of `ralphtool`."""
    verify: str = ""
    """The command that decides whether the story is done."""
    failure: str = ""
    """Why the attempt before failed."""


def assign(
    plan: Plan,
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
        change=plan.change,
        story=story,
        scenarios=plan.scenarios(story),
        documents=dict(plan.context()),
        learnings=learnings,
        patterns=patterns,
        session_id=session_id,
        command=command,
        verify=verify,
        failure=failure,
    )


def render_prompt(assignment: Assignment) -> str:
    return "\n\n".join(_sections(assignment)) + "\n"


def _sections(assignment: Assignment) -> Iterator[str]:
    story = assignment.story
    yield (
        f"You work on one story of the change {assignment.change}, in the current project. Do this story, and no other."
    )
    if assignment.failure:
        yield f"# What failed last time\n\nThis was tried before, and is not done yet:\n\n{assignment.failure}"
    tasks = "\n".join(f"- [{'x' if task.done else ' '}] {task.id} {task.text}" for task in story.tasks)
    yield f"# Story {story.id}: {story.title}\n\n{tasks}"
    yield _rules(assignment)
    if assignment.scenarios:
        yield "\n\n".join(["# What must hold", *[_scenario(one) for one in assignment.scenarios]])
    for name, text in assignment.documents.items():
        yield f"# The {name} of the change\n\n<{name}>\n{text.strip()}\n</{name}>"
    if assignment.learnings:
        yield "\n".join(["# Learned so far\n", *dict.fromkeys(f"- {one.description}" for one in assignment.learnings)])
    if assignment.patterns:
        patterns = dict.fromkeys(f"- {one.name}: {one.description}" for one in assignment.patterns)
        yield "\n".join(["# Patterns to follow\n", *patterns])


def _rules(assignment: Assignment) -> str:
    options = f"--session {assignment.session_id} --story {shlex.quote(assignment.story.id)}"
    condition = f", and the command `{assignment.verify}` succeeds" if assignment.verify else ""
    return f"""# How to work

Report your work with these shell commands:

- As soon as a task is done: `{assignment.command} agent task done ID {options}`
- When you learned something that the next agent should know:
  `{assignment.command} agent learn "TEXT" --task ID {options}`
- When you found a way of working that others should follow:
  `{assignment.command} agent pattern "NAME" "TEXT" --session {assignment.session_id}`

The story is done when all its tasks are ticked by these commands{condition}. Do not edit the boxes by hand."""


def _scenario(one: Scenario) -> str:
    return f"## {one.requirement}: {one.title}\n\n{one.text}"
