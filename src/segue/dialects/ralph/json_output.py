"""What the commands say: one JSON object on stdout, or one on stderr with a code."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from segue.dialects.ralph.step_context import NeedsError, SessionElsewhereError
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

    from segue.dialects.ralph.openspec import Story
    from segue.dialects.ralph.store.claims import Claim
    from segue.model import JsonObject, Overview


class Exit(IntEnum):
    """The same numbers as those of the other commands."""

    DONE = 0
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    DAMAGED = 5
    STORAGE = 6
    UNEXPECTED = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


_CODES: tuple[tuple[type[SegueError], str, Exit], ...] = (  # the first that fits
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


def codes() -> tuple[tuple[type[SegueError], str, Exit], ...]:
    """Every error that is told by its kind; those of the plan and the claims first, imported when something fails."""
    from segue.dialects.ralph.openspec import ChangeNotFoundError, StoryNotFoundError, TaskNotFoundError
    from segue.dialects.ralph.store.claims import ChangeLockedError

    return (
        (ChangeLockedError, "CHANGE_LOCKED", Exit.CONFLICT),
        (SessionElsewhereError, "SESSION_ELSEWHERE", Exit.CONFLICT),
        (ChangeNotFoundError, "CHANGE_NOT_FOUND", Exit.NOT_FOUND),
        (StoryNotFoundError, "STORY_NOT_FOUND", Exit.NOT_FOUND),
        (TaskNotFoundError, "TASK_NOT_FOUND", Exit.NOT_FOUND),
        *_CODES,
    )


def failure(error: Exception) -> tuple[bytes, int]:
    """An error as the object for stderr, and the code to end with."""
    if isinstance(error, OSError):  # stores let none through, so that it comes of a stream
        error = storage_error(error, "the output", "write")
    if not isinstance(error, SegueError):
        error = SegueError(f"unexpected: {type(error).__name__}: {error}", hint="this is a bug in Segue")
    code, number = next((code, number) for family, code, number in codes() if isinstance(error, family))
    if isinstance(error, NeedsError):
        code = error.code
    if code == "SESSION_NOT_FOUND" and not error.hint:
        error.hint = "begin it with 'ralphtool agent session init --change NAME'; a reboot may have emptied the folder"
    said: JsonObject = {"code": code, "message": str(error), "hint": error.hint}
    if (claim := getattr(error, "claim", None)) is not None:
        said["claim"] = claim_of(claim)
    return rendered({"error": said}), number


def rendered(answer: JsonObject) -> bytes:
    return encode_indented(answer) + b"\n"


def story_of(story: Story) -> JsonObject:
    return {
        "id": story.id,
        "title": story.title,
        "tasks_done": story.done,
        "tasks_total": len(story.tasks),
        "complete": story.complete,
    }


def story_json(story: Story) -> JsonObject:
    """With its tasks."""
    return {**story_of(story), "tasks": [msgspec.to_builtins(task) for task in story.tasks]}


def progress_of(stories: Sequence[Story]) -> JsonObject:
    """All stories, and how much of them is done."""
    return {
        "stories": [story_of(story) for story in stories],
        "stories_complete": sum(story.complete for story in stories),
        "stories_total": len(stories),
        "tasks_done": sum(story.done for story in stories),
        "tasks_total": sum(len(story.tasks) for story in stories),
        "complete": all(story.complete for story in stories),
    }


def claim_of(claim: Claim) -> JsonObject:
    known: JsonObject = msgspec.to_builtins(claim)
    return {name: known[name] for name in ("change", "session", "host", "pid", "since")}


def session_of(known: Overview) -> JsonObject:
    story, change = known.overrides.get("story"), known.extra.get("change_name")
    return {
        "session_id": known.id,
        "change_name": change if isinstance(change, str) else "",
        "current_story_id": story if isinstance(story, str) else None,
        "created_at": msgspec.to_builtins(known.created_at),
    }


def learnings_of(known: Overview) -> list[JsonObject]:
    names = ("description", "task_id", "story_id", "timestamp")
    return [{name: msgspec.to_builtins(getattr(one, name)) for name in names} for one in known.learnings]


def patterns_of(known: Overview) -> list[JsonObject]:
    return [{"name": one.name, "description": one.description} for one in known.patterns]


def tasks_of(known: Overview) -> list[str]:
    return list(dict.fromkeys(task.task_id for task in known.tasks_done))
