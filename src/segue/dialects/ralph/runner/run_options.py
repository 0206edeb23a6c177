"""What a run is to do, and how it ended."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from segue.dialects.ralph.runner.command import TimeLimits


class RunOptions(Struct, frozen=True, kw_only=True):
    """What to do."""

    change: str
    verify: str = ""
    """A shell command; without one, ticked tasks are enough."""
    verify_source: str = ""
    """The file of the project from which `verify` was inferred; empty if the user chose it."""
    max_retries: int = 3
    max_stories: int | None = None
    limits: TimeLimits = TimeLimits()
    """For every agent, and for every verification."""
    resets: bool = False
    """Whether a retry starts from the last commit; only together with a repository."""
    takeover: bool = False


class RunResult(Enum):
    """How a run ended. After all but the first, the same call resumes it."""

    COMPLETE = "complete"
    ENOUGH = "enough"
    """After `max_stories` stories."""
    FAILED = "failed"
    STOPPED = "stopped"
