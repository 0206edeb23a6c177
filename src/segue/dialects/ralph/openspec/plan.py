"""The values of a plan (stories, tasks, scenarios), and the protocol of a plan in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from segue.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from segue.durable.folder import Folder
    from segue.model import Learning, Pattern

NEAR = 5
"""How many names an error suggests."""


class ChangeNotFoundError(NotFoundError):
    """There is no such change."""


class StoryNotFoundError(NotFoundError):
    """The change has no such story."""


class TaskNotFoundError(NotFoundError):
    """The change has no such task."""


class Task(Struct, frozen=True, kw_only=True):
    """One checkbox."""

    id: str
    """The number that it begins with, else a slug of its text: stable when tasks are inserted before it.

    Unique within its story.
    """
    text: str
    done: bool


class Story(Struct, frozen=True, kw_only=True):
    """A heading, and the checkboxes below it."""

    id: str
    title: str
    tasks: tuple[Task, ...]

    @property
    def done(self) -> int:
        """How many of its tasks are done."""
        return sum(task.done for task in self.tasks)

    @property
    def complete(self) -> bool:
        """Whether all its tasks are done; true for a story without tasks."""
        return all(task.done for task in self.tasks)


class Scenario(Struct, frozen=True, kw_only=True):
    """A condition that the finished change must fulfil."""

    capability: str
    requirement: str
    title: str
    text: str


class Plan(Protocol):
    """The plan of one change. Every call reads the files again, since users edit them meanwhile.

    Writes are exact and atomic: no other byte of a file changes, and an edit that a user makes at the same time is
    never overwritten. NotFoundError if there is no such story or task.
    """

    @property
    def change(self) -> str: ...

    @property
    def project(self) -> Folder: ...

    def files(self) -> tuple[tuple[str, ...], ...]:
        """The files that it reads, by their paths in the project; the first has the checklist."""

    def stories(self) -> tuple[Story, ...]:
        """All stories, in their order."""

    def context(self) -> Mapping[str, str]:
        """The documents that explain the change: texts by name."""

    def scenarios(self, story: Story) -> tuple[Scenario, ...]:
        """The scenarios that a story names, or all if it names none."""

    def mark(self, story_id: str, task_id: str, *, done: bool = True) -> bool:
        """Tick the box of a task, or open it again; False if it was so already."""

    def write_learnings(self, learnings: Sequence[Learning]) -> None:
        """Add learnings to the plan; those that are there already are not added again."""

    def write_patterns(self, patterns: Sequence[Pattern]) -> None:
        """Add patterns to the plan; those that are there already are not added again."""


def find_lost(before: Sequence[Story], after: Sequence[Story]) -> tuple[str, ...]:
    """The stories and tasks that are gone.

    An id that is made from a text changes when a user rewords it, so such a task is gone only if there are fewer.
    """
    ids = {story.id: {task.id for task in story.tasks} for story in after}
    has_fewer_stories = len(after) < len(before)
    has_fewer_tasks = sum(len(story.tasks) for story in after) < sum(len(story.tasks) for story in before)
    lost: list[str] = []
    for story in before:
        if story.id not in ids:
            if story.id[0].isdecimal() or has_fewer_stories:
                lost.append(f"story {story.id}")
            continue
        missing = [task.id for task in story.tasks if task.id not in ids[story.id]]
        lost += [f"task {one}" for one in missing if one[0].isdecimal() or has_fewer_tasks]
    return tuple(lost)


def find_next(stories: Sequence[Story]) -> Story | None:
    """The first incomplete story."""
    return next((story for story in stories if not story.complete), None)


def get_story(stories: Sequence[Story], story_id: str) -> Story:
    found = [story for story in stories if story.id == story_id]
    if not found:
        raise StoryNotFoundError(f"there is no story {story_id!r}", near=[story.id for story in stories][:NEAR])
    return found[0]


def get_task(story: Story, task_id: str) -> Task:
    found = next((task for task in story.tasks if task.id == task_id), None)
    if found is None:
        open_ones = [task.id for task in story.tasks if not task.done]
        raise TaskNotFoundError(f"there is no task {task_id!r}", near=open_ones[:NEAR])
    return found
