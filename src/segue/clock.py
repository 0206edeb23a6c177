"""The wall clock, for callers to whom none was handed in. It stamps events; it never orders them."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)
