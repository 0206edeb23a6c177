"""The wall clock, for callers to whom none was handed in. It stamps events; it never orders them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


def utc_now() -> datetime:
    return datetime.now(UTC)


def local(moment: datetime) -> datetime:
    """In the zone of the machine; as it is, where the calendar ends before that."""
    try:
        return moment.astimezone()
    except (OverflowError, OSError):
        return moment


def datetime_at(number: float) -> datetime:
    """So many seconds after the epoch; the epoch itself where no calendar has such a moment, as files may claim."""
    try:
        return datetime.fromtimestamp(number, UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def booted_at() -> datetime:
    """When the machine started."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return utc_now() - timedelta(seconds=time.clock_gettime(clock))
