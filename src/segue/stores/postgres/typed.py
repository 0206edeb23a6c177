"""Statements whose values are given in the binary form of their types.

The driver can find out the type of each value and convert it, and builds a cursor for every statement. That costs more
than the statement that records a turn; so this one gets its values as the server reads them.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

POSTGRES_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Times are stored as microseconds since then."""
_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS_OF_A_MINUTE = 60_000_000
_TYPES = {"int4": 23, "int8": 20, "float8": 701, "timestamptz": 1184, "text": 25, "bytea": 17, "uuid": 2950}
"""The numbers that Postgres gave to its types for good."""


class TypedStatement(NamedTuple):
    """A statement with `$1`, `$2` … for its values."""

    text: str
    encoded: bytes
    types: tuple[int, ...]
    formats: tuple[int, ...]
    """Binary, all of them."""

    def __str__(self) -> str:
        return self.text


def typed(text: str, *types: str) -> TypedStatement:
    return TypedStatement(text, text.encode(), tuple([_TYPES[name] for name in types]), (1,) * len(types))


int4 = struct.Struct("!i").pack
int8 = struct.Struct("!q").pack
float8 = struct.Struct("!d").pack


def times(moment: datetime) -> tuple[bytes, bytes]:
    """A time, and its minute in UTC: see `columns.time_columns`."""
    microseconds = (moment - POSTGRES_EPOCH) // _MICROSECOND
    return int8(microseconds), int8(microseconds - microseconds % _MICROSECONDS_OF_A_MINUTE)
