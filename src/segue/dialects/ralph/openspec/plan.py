"""A plan as values, and the protocol of whatever keeps one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from segue.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from segue.model import Learning, Pattern

NEAR = 5
"""How many names an error proposes."""


class ChangeNotFoundError(NotFoundError):
    """There is no such change."""


class StoryNotFoundError(NotFoundError):
    """The change has no such story."""


class TaskNotFoundError(NotFoundError):
    """The change has no such task."""


class Task(Struct, frozen=True, kw_only=True):
    """One box."""

    id: str
    """The number it begins with, or its words where it has none: stable when others come before it."""
    text: str
    done: bool


class Story(Struct, frozen=True, kw_only=True):
    """A heading, and the boxes below it."""

    id: str
    title: str
    tasks: tuple[Task, ...]

    @property
    def done(self) -> int:
        """How many of its tasks."""
        return sum(task.done for task in self.tasks)

    @property
    def complete(self) -> bool:
        """A story without tasks is."""
        return all(task.done for task in self.tasks)


class Scenario(Struct, frozen=True, kw_only=True):
    """What must hold when the change is made."""

    capability: str
    requirement: str
    title: str
    text: str


class Plan(Protocol):
    """One change. Everything is read when it is asked for, since people edit it meanwhile.

    What writes is exact and atomic: nothing else in a file changes by a byte, and a change that a person makes at the
    same time is never overwritten. NotFoundError where there is no such story or task.
    """

    @property
    def change(self) -> str: ...

    def stories(self) -> tuple[Story, ...]:
        """In their order."""

    def context(self) -> Mapping[str, str]:
        """What explains the change: texts by name, those that are there."""

    def scenarios(self, story: Story) -> tuple[Scenario, ...]:
        """What a story has to fulfil: what is about it by name, or everything where nothing is."""

    def tick(self, task_id: str) -> bool:
        """Mark a task as done; False if it was already."""

    def write_learnings(self, learnings: Sequence[Learning]) -> None:
        """Add them to what was learned; what is there already is not added again."""

    def write_patterns(self, patterns: Sequence[Pattern]) -> None:
        """Add them to the patterns; what is there already is not added again."""


def find_next(stories: Sequence[Story]) -> Story | None:
    """The first that is not complete."""
    return next((story for story in stories if not story.complete), None)


def get_story(stories: Sequence[Story], story_id: str) -> Story:
    found = [story for story in stories if story.id == story_id]
    if not found:
        raise StoryNotFoundError(f"there is no story {story_id!r}", near=[story.id for story in stories][:NEAR])
    return found[0]


def get_task(stories: Sequence[Story], task_id: str) -> tuple[Story, Task]:
    """The one task of this id, and its story."""
    found = [(story, task) for story in stories for task in story.tasks if task.id == task_id]
    if not found:
        open_ones = [task.id for story in stories for task in story.tasks if not task.done]
        raise TaskNotFoundError(f"there is no task {task_id!r}", near=open_ones[:NEAR])
    if len(found) > 1:
        raise UsageError(f"{len(found)} tasks are called {task_id}", hint="give each a number of its own")
    return found[0]
