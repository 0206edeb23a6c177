"""The status of a session, and which status may follow which."""

from __future__ import annotations

from typing import Literal, get_args

from segue.errors import TransitionError, UsageError

Status = Literal["active", "paused", "completed", "interrupted"]
STATUSES: tuple[Status, ...] = get_args(Status)

ALLOWED: dict[Status, tuple[Status, ...]] = {
    "active": ("paused", "completed", "interrupted"),
    "paused": ("active", "completed"),
    "interrupted": ("active", "completed"),
    "completed": (),
}
"""A completed session may become active as well, but only by force."""


def check_transition(session_id: str, current: Status, wanted: Status, *, force: bool = False) -> None:
    """Raise TransitionError unless `wanted` may follow `current`; staying is always allowed."""
    if wanted not in STATUSES:
        raise UsageError(f"unknown status {wanted!r}", hint=f"use one of {', '.join(STATUSES)}")
    if wanted == current or wanted in ALLOWED[current]:
        return
    if current == "completed" and wanted == "active" and force:
        return
    raise TransitionError(session_id, current, wanted, allowed=ALLOWED[current])
