"""Changes that are written down as a plan: stories with tasks, what explains them, and what was learned on the way.

Read `plan` (the values, and what an adapter does), then `prose` and `checklist` (how Markdown is read), then `section`
and `edit` (how it is changed), then `openspec` and `markdown`, the two adapters.
"""

from segue.dialects.ralph.openspec.find import find_changes, open_spec, plan_of
from segue.dialects.ralph.openspec.plan import (
    ChangeNotFoundError,
    Plan,
    Scenario,
    Story,
    StoryNotFoundError,
    Task,
    TaskNotFoundError,
    find_next,
    get_story,
    get_task,
)

__all__ = [
    "ChangeNotFoundError",
    "Plan",
    "Scenario",
    "Story",
    "StoryNotFoundError",
    "Task",
    "TaskNotFoundError",
    "find_changes",
    "find_next",
    "get_story",
    "get_task",
    "open_spec",
    "plan_of",
]
