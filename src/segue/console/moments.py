"""Times as people say and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from segue.clock import local
from segue.errors import UsageError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"([0-9]{1,9})\s*([smhdw])")
_STEPS = ((60, "s", 1), (3600, "m", 60), (86400, "h", 3600), (14 * 86400, "d", 86400))


def parse_age(text: str) -> timedelta:
    """A length of time such as 30d, 12h or 2w."""
    match = _SPAN.fullmatch(text.strip())
    try:
        if match is not None:
            return timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        pass
    raise UsageError(f"{text!r:.60} is not a length of time", hint="say it as in 90m, 12h, 30d or 2w")


def parse_since(text: str, now: datetime) -> datetime:
    """A moment: so long ago, or a date or time, which is local unless it says its zone."""
    try:
        if _SPAN.fullmatch(text.strip()):
            return now - parse_age(text)
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{text!r:.60} is not a time", hint="say it as in 7d, 2026-11-01 or 2026-11-01T09:30:00Z"
        ) from None
    except UsageError as error:
        error.hint = "say it as in 7d, 2026-11-01 or 2026-11-01T09:30:00Z"
        raise


def ago(moment: datetime, now: datetime) -> str:
    """How long ago, short; the day itself once it is two weeks back."""
    seconds = int((now - moment).total_seconds())
    if seconds < 0:
        return f"{local(moment):%Y-%m-%d %H:%M}"
    for limit, unit, size in _STEPS:
        if seconds < limit:
            return f"{seconds // size}{unit} ago" if seconds else "now"
    return f"{local(moment):%Y-%m-%d}"
