"""Reads and edits the plan of a change: its stories and tasks, the documents about it, and what was learned.

Read `plan` (the values, and the protocol of a plan), then `plan_files` (the two kinds of plans, and how one is found),
`markdown` and `checklist` (how stories and tasks are parsed), `notes_section` (how learnings are added) and
`saved_plan` (how files that are gone are restored).
"""

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
from segue.dialects.ralph.openspec.plan_files import find_changes, open_plan, plan_paths

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
    "open_plan",
    "plan_paths",
]
