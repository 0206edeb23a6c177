from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from segue.console.durations import ago, parse_age, parse_since
from segue.errors import UsageError

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("12h", timedelta(hours=12)),
        (" 30d ", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
        ("1mo", timedelta(days=31)),
        ("6 months", timedelta(days=186)),
        ("1y", timedelta(days=366)),
        ("2 years", timedelta(days=732)),
    ],
)
def test_an_age_is_a_number_and_a_unit(text: str, age: timedelta) -> None:
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["", "d", "3", "3x", "-3d", "3.5d", "٣d", "1d2h", "999999999w", "9" * 99 + "d"])
def test_anything_else_is_no_age(text: str) -> None:
    with pytest.raises(UsageError, match="not an age"):
        parse_age(text)


@pytest.mark.parametrize("text", ["1m", "90m", "5 m"])
def test_m_could_be_minutes_or_months_and_so_is_no_age(text: str) -> None:
    with pytest.raises(UsageError, match="minutes or months") as refused:
        parse_age(text)
    assert "mo for months" in refused.value.hint


@pytest.mark.parametrize("text", ["0h", "0d", "45s", "59minutes"])
def test_no_age_is_below_an_hour(text: str) -> None:
    with pytest.raises(UsageError, match="less than an hour"):
        parse_age(text)


def test_since_is_so_long_ago_or_a_moment() -> None:
    assert parse_since("7d", NOW) == NOW - timedelta(days=7)
    assert parse_since("90m", NOW) == NOW - timedelta(minutes=90)
    assert parse_since("45s", NOW) == NOW - timedelta(seconds=45)
    assert parse_since("2026-11-01T09:30:00Z", NOW) == datetime(2026, 11, 1, 9, 30, tzinfo=UTC)
    assert parse_since("2026-11-01", NOW) == datetime(2026, 11, 1).astimezone(UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "7x", "2026-13-01", "999999w", "0001-01-01T00:00:00+23:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a time|not an age"):
        parse_since(text, NOW)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "now"), (59, "59s ago"), (60, "1m ago"), (3599, "59m ago"), (86399, "23h ago"), (86400 * 13, "13d ago")],
)
def test_recent_times_are_relative(seconds: int, shown: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == shown


def test_old_times_are_days_and_times_to_come_are_exact() -> None:
    assert ago(NOW - timedelta(days=30), NOW) == f"{(NOW - timedelta(days=30)).astimezone():%Y-%m-%d}"
    assert ago(NOW + timedelta(hours=1), NOW) == f"{(NOW + timedelta(hours=1)).astimezone():%Y-%m-%d %H:%M}"
