"""What an agent does: `ralphtool agent …`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from segue.dialects.ralph.json_output import learnings_of, patterns_of, progress_of, session_of, story_json, story_of
from segue.dialects.ralph.step_context import NeedsError
from segue.errors import UsageError
from segue.model import Learning, Pattern, TaskDone

if TYPE_CHECKING:
    from segue.dialects.ralph.step_context import StepContext
    from segue.model import JsonObject


def context(desk: StepContext) -> JsonObject:
    """All that an agent needs to know for its story."""
    from segue.dialects.ralph.openspec import find_next, get_story

    stories = desk.spec.stories()
    story = get_story(stories, desk.story_id) if desk.story_id else find_next(stories)
    return {
        **session_of(desk.overview),
        "story": None if story is None else story_json(story),
        "scenarios": [] if story is None else [msgspec.to_builtins(one) for one in desk.spec.scenarios(story)],
        "documents": dict(desk.spec.context()),
        "learnings": learnings_of(desk.overview),
        "patterns": patterns_of(desk.overview),
    }


def task_done(desk: StepContext, task_id: str) -> JsonObject:
    """Tick a task of the story; once, however often it is said."""
    from segue.dialects.ralph.openspec import get_story, get_task

    desk.check_claim()
    stories = desk.spec.stories()
    story = desk.story_in(stories)
    owner, task = get_task(stories, task_id)
    if owner.id != story.id:
        raise NeedsError(
            "TASK_OUTSIDE_STORY",
            f"task {task_id} belongs to story {owner.id}, and this is story {story.id}",
            hint="finish this story first; the orchestrator asks for the next one",
        )
    is_new = desk.spec.tick(task.id)
    name = f"task-{crc32(f'{story.id} {task.id}'.encode('utf-8', 'surrogatepass')):08x}-{task.id[:100]}"
    desk.record(TaskDone(task_id=task.id, story_id=story.id, timestamp=desk.clock(), id=name))
    now = desk.spec.stories()
    return {
        "task_id": task.id,
        "already_done": not is_new,
        "story": story_of(get_story(now, story.id)),
        "complete": all(one.complete for one in now),
    }


def status(desk: StepContext) -> JsonObject:
    stories = desk.spec.stories()
    current = next((story for story in stories if story.id == desk.story_id), None)
    return {
        **session_of(desk.overview),
        "story": None if current is None else story_json(current),
        **progress_of(stories),
    }


def learn(desk: StepContext, description: str, *, task_id: str | None) -> JsonObject:
    learning = Learning(
        description=_said(description, "a learning"),
        task_id=task_id,
        story_id=desk.story_id,
        timestamp=desk.clock(),
        id=f"learning-{os.urandom(8).hex()}",
    )
    known = desk.record(learning)
    return {"learning": learnings_of(known)[-1], "learnings": len(known.learnings)}


def pattern(desk: StepContext, name: str, description: str) -> JsonObject:
    found = Pattern(
        name=_said(name, "the name of a pattern"),
        description=_said(description, "a pattern"),
        timestamp=desk.clock(),
        id=f"pattern-{os.urandom(8).hex()}",
    )
    known = desk.record(found)
    return {"pattern": patterns_of(known)[-1], "patterns": len(known.patterns)}


def _said(text: str, what: str) -> str:
    if not text.strip():
        raise UsageError(f"{what} is a text, and this one is empty", hint="say it in a sentence")
    return text
