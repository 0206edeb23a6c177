"""The JSON of `ralphtool agent`: one object on stdout, or one on stderr with an error code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from segue.dialects.ralph.step_context import RunInProgressError, SessionElsewhereError, StepError
from segue.durable.kernel import storage_error
from segue.errors import (
    ConflictError,
    DamagedError,
    DiskFullError,
    InvalidIdError,
    NotFoundError,
    SegueError,
    SessionExistsError,
    SessionLockedError,
    StorageError,
    UsageError,
)
from segue.formats.records import encode_indented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.console.exit_codes import Exit
    from segue.dialects.ralph.openspec import Story
    from segue.dialects.ralph.store.claims import Claim
    from segue.model import JsonObject, Overview


def error_codes() -> tuple[tuple[type[SegueError], str, Exit], ...]:
    """The code and the exit code of each kind of error; the first that fits counts. Imported when something fails."""
    from segue.console.exit_codes import Exit
    from segue.dialects.ralph.openspec import ChangeNotFoundError, StoryNotFoundError, TaskNotFoundError
    from segue.dialects.ralph.store.claims import ChangeLockedError

    return (
        (ChangeLockedError, "CHANGE_LOCKED", Exit.CONFLICT),
        (RunInProgressError, "RUN_IN_PROGRESS", Exit.CONFLICT),
        (SessionElsewhereError, "SESSION_ELSEWHERE", Exit.CONFLICT),
        (ChangeNotFoundError, "CHANGE_NOT_FOUND", Exit.NOT_FOUND),
        (StoryNotFoundError, "STORY_NOT_FOUND", Exit.NOT_FOUND),
        (TaskNotFoundError, "TASK_NOT_FOUND", Exit.NOT_FOUND),
        (NotFoundError, "SESSION_NOT_FOUND", Exit.NOT_FOUND),
        (SessionExistsError, "SESSION_EXISTS", Exit.CONFLICT),
        (SessionLockedError, "SESSION_BUSY", Exit.CONFLICT),
        (ConflictError, "CONFLICT", Exit.CONFLICT),
        (DamagedError, "SESSION_DAMAGED", Exit.DAMAGED),
        (InvalidIdError, "INVALID_NAME", Exit.USAGE),
        (UsageError, "USAGE", Exit.USAGE),
        (DiskFullError, "DISK_FULL", Exit.STORAGE),
        (StorageError, "STORAGE", Exit.STORAGE),
        (SegueError, "UNEXPECTED", Exit.UNEXPECTED),
    )


def error_json(error: BaseException) -> tuple[bytes, int]:
    """An error as the object for stderr, and the exit code."""
    if isinstance(error, OSError):  # stores raise none, so it comes from a stream
        error = storage_error(error, "the output", "write")
    if not isinstance(error, SegueError):
        error = SegueError(f"unexpected: {type(error).__name__}: {error}", hint="this is a bug in Segue")
    code, number = next((code, number) for family, code, number in error_codes() if isinstance(error, family))
    if isinstance(error, StepError):
        code = error.code
    if code == "SESSION_NOT_FOUND" and not error.hint:
        error.hint = "start it with 'ralphtool agent session init --change NAME'; a reboot may have emptied the folder"
    fields: JsonObject = {"code": code, "message": str(error), "hint": error.hint}
    if (claim := getattr(error, "claim", None)) is not None:
        fields["claim"] = claim_json(claim)
    return render_json({"error": fields}), number


def render_json(answer: JsonObject) -> bytes:
    return encode_indented(answer) + b"\n"


def story_summary_json(story: Story) -> JsonObject:
    return {
        "id": story.id,
        "title": story.title,
        "tasks_done": story.done,
        "tasks_total": len(story.tasks),
        "complete": story.complete,
    }


def story_json(story: Story) -> JsonObject:
    """A story with its tasks."""
    return {**story_summary_json(story), "tasks": [msgspec.to_builtins(task) for task in story.tasks]}


def progress_json(stories: Sequence[Story]) -> JsonObject:
    """All stories, and how much of them is done."""
    return {
        "stories": [story_summary_json(story) for story in stories],
        "stories_complete": sum(story.complete for story in stories),
        "stories_total": len(stories),
        "tasks_done": sum(story.done for story in stories),
        "tasks_total": sum(len(story.tasks) for story in stories),
        "complete": all(story.complete for story in stories),
    }


def claim_json(claim: Claim) -> JsonObject:
    fields: JsonObject = msgspec.to_builtins(claim)
    return {name: fields[name] for name in ("change", "session", "host", "pid", "since")}


def session_json(overview: Overview) -> JsonObject:
    story, change = overview.overrides.get("story"), overview.extra.get("change_name")
    return {
        "session_id": overview.id,
        "change_name": change if isinstance(change, str) else "",
        "current_story_id": story if isinstance(story, str) else None,
        "created_at": msgspec.to_builtins(overview.created_at),
    }


def learnings_json(overview: Overview) -> list[JsonObject]:
    names = ("description", "task_id", "story_id", "timestamp")
    return [{name: msgspec.to_builtins(getattr(learning, name)) for name in names} for learning in overview.learnings]


def patterns_json(overview: Overview) -> list[JsonObject]:
    return [{"name": pattern.name, "description": pattern.description} for pattern in overview.patterns]


def completed_task_ids(overview: Overview) -> list[str]:
    return list(dict.fromkeys(task.task_id for task in overview.tasks_done))
