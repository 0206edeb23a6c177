"""The commands of an agent: `ralphtool agent …`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from segue.dialects.ralph.json_output import (
    learnings_json,
    patterns_json,
    progress_json,
    session_json,
    story_json,
    story_summary_json,
)
from segue.dialects.ralph.step_context import StepError
from segue.errors import UsageError
from segue.model import Learning, Pattern, TaskDone

if TYPE_CHECKING:
    from segue.dialects.ralph.step_context import StepContext
    from segue.model import JsonObject


def context(step: StepContext) -> JsonObject:
    """Everything that an agent needs for its story."""
    from segue.dialects.ralph.openspec import find_next, get_story

    stories = step.plan.stories()
    story = get_story(stories, step.story_id) if step.story_id else find_next(stories)
    return {
        **session_json(step.overview),
        "story": None if story is None else story_json(story),
        "scenarios": [] if story is None else [msgspec.to_builtins(one) for one in step.plan.scenarios(story)],
        "documents": dict(step.plan.context()),
        "learnings": learnings_json(step.overview),
        "patterns": patterns_json(step.overview),
    }


def task_done(step: StepContext, task_id: str) -> JsonObject:
    """Tick a task of the story; a second call changes nothing."""
    from segue.dialects.ralph.openspec import get_story, get_task

    step.check_claim()
    stories = step.plan.stories()
    story = step.require_story(stories)
    owners = [other.id for other in stories if any(task.id == task_id for task in other.tasks)]
    if owners and story.id not in owners:
        raise StepError(
            "TASK_OUTSIDE_STORY",
            f"task {task_id} belongs to story {owners[0]}, and the current story is {story.id}",
            hint="finish this story first; the orchestrator asks for the next one",
        )
    task = get_task(story, task_id)
    was_open = step.plan.mark(story.id, task.id)
    event_id = f"task-{crc32(f'{story.id} {task.id}'.encode('utf-8', 'surrogatepass')):08x}-{task.id[:100]}"
    step.record(TaskDone(task_id=task.id, story_id=story.id, timestamp=step.clock(), id=event_id))
    stories = step.plan.stories()
    return {
        "task_id": task.id,
        "already_done": not was_open,
        "story": story_summary_json(get_story(stories, story.id)),
        "complete": all(story.complete for story in stories),
    }


def status(step: StepContext) -> JsonObject:
    stories = step.plan.stories()
    current = next((story for story in stories if story.id == step.story_id), None)
    return {
        **session_json(step.overview),
        "story": None if current is None else story_json(current),
        **progress_json(stories),
    }


def learn(step: StepContext, description: str, *, task_id: str | None) -> JsonObject:
    learning = Learning(
        description=_require_text(description, "a learning"),
        task_id=task_id,
        story_id=step.story_id,
        timestamp=step.clock(),
        id=f"learning-{os.urandom(8).hex()}",
    )
    overview = step.record(learning)
    return {"learning": learnings_json(overview)[-1], "learnings": len(overview.learnings)}


def pattern(step: StepContext, name: str, description: str) -> JsonObject:
    recorded = Pattern(
        name=_require_text(name, "the name of a pattern"),
        description=_require_text(description, "a pattern"),
        timestamp=step.clock(),
        id=f"pattern-{os.urandom(8).hex()}",
    )
    overview = step.record(recorded)
    return {"pattern": patterns_json(overview)[-1], "patterns": len(overview.patterns)}


def _require_text(text: str, what: str) -> str:
    if not text.strip():
        raise UsageError(f"{what} must not be empty", hint="write it as a sentence")
    return text
