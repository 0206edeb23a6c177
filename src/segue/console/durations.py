"""Ages and times as users type and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from segue.clock import ago
from segue.console import output
from segue.errors import UsageError
from segue.formats.transcript import iso

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ago", "parse_age", "parse_since", "time_formatter"]

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_AGES = {
    ("h", "hour", "hours"): _HOUR,
    ("d", "day", "days"): _DAY,
    ("w", "week", "weeks"): 7 * _DAY,
    ("mo", "month", "months"): 31 * _DAY,  # the longest month, so that nothing younger than asked for is removed
    ("y", "year", "years"): 366 * _DAY,
}
_SHORT = {("s", "second", "seconds"): timedelta(seconds=1), ("m", "min", "minute", "minutes"): timedelta(minutes=1)}
_UNITS = {word: size for words, size in (_AGES | _SHORT).items() for word in words}
_SPAN = re.compile(r"([0-9]{1,9})\s*([a-z]+)")


def parse_age(text: str) -> timedelta:
    """Parse a minimum age: 12h, 30d, 2w, 6mo or 1y. Less than an hour is refused, and so is m, which is ambiguous."""
    given, hint = text.strip(), "use 12h, 30d, 2w, 6mo or 1y"
    if (found := _SPAN.fullmatch(given)) is not None and found[2] == "m":
        raise UsageError(
            f"{given!r:.60} could mean minutes or months; nothing was done",
            hint=f"use {found[1]}mo for months; the minimum is one hour",
        )
    age = _parse_span(given)
    if age is None:
        raise UsageError(f"{text!r:.60} is not an age", hint=hint)
    if age < _HOUR:
        raise UsageError(f"{given!r:.60} is less than an hour; nothing was done", hint=hint)
    return age


def parse_time_limit(text: str, name: str) -> timedelta:
    """Parse the value of an option that limits a time: 90s, 30m or 2h."""
    span = _parse_span(text.strip())
    if not span:
        raise UsageError(f"{name} needs a time, not {text!r:.40}", hint=f"for example {name} 30m; s, m and h are units")
    return span


def parse_since(text: str, now: datetime) -> datetime:
    """Parse a time: an age such as 7d or 20m, or an ISO date or time, which is local unless it has a zone."""
    try:
        if (span := _parse_span(text.strip())) is not None:
            return now - span
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text!r:.60} is not a time", hint="use 7d, 2026-11-01 or 2026-11-01T09:30:00Z") from None


def _parse_span(text: str) -> timedelta | None:
    found = _SPAN.fullmatch(text)
    try:
        return int(found[1]) * _UNITS[found[2]] if found is not None and found[2] in _UNITS else None
    except OverflowError:
        return None


def time_formatter() -> Callable[[datetime], str]:
    """The function that formats times: relative to now on a terminal, exact elsewhere."""
    if not output.stdout_is_tty():
        return iso
    now = datetime.now(UTC)
    return lambda moment: ago(moment, now)
