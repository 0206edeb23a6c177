"""The wall clock, for callers that were not given one. It stamps events; it never orders them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_STEPS = ((60, "s", 1), (3600, "m", 60), (86400, "h", 3600), (14 * 86400, "d", 86400))


def utc_now() -> datetime:
    return datetime.now(UTC)


def local(moment: datetime) -> datetime:
    """The time in the zone of the machine; unchanged where the calendar has no such time."""
    try:
        return moment.astimezone()
    except (OverflowError, OSError):
        return moment


def ago(moment: datetime, now: datetime) -> str:
    """A short age, or the date if it is two weeks ago or more."""
    seconds = int((now - moment).total_seconds())
    if seconds < 0:
        return f"{local(moment):%Y-%m-%d %H:%M}"
    for limit, unit, size in _STEPS:
        if seconds < limit:
            return f"{seconds // size}{unit} ago" if seconds else "now"
    return f"{local(moment):%Y-%m-%d}"


def datetime_at(number: float) -> datetime:
    """The time N seconds after the epoch; the epoch itself if the calendar has no such time, which files may claim."""
    try:
        return datetime.fromtimestamp(number, UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def booted_at() -> datetime:
    """When the machine started."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return utc_now() - timedelta(seconds=time.clock_gettime(clock))
