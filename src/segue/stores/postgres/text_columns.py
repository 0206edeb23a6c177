"""Text in columns: Postgres refuses NUL and half surrogate pairs, so the few texts that have one are stored as JSON."""

from __future__ import annotations

import json

_PREFIX = "json:"


def to_column(text: str) -> str:
    """The text itself wherever possible; `from_column` gives back exactly the original."""
    if text.isascii():
        is_plain = "\0" not in text
    else:
        try:
            is_plain = b"\0" not in text.encode()
        except UnicodeEncodeError:
            is_plain = False
    return text if is_plain and not text.startswith(_PREFIX) else _PREFIX + json.dumps(text)


def from_column(text: str) -> str:
    if not text.startswith(_PREFIX):
        return text
    try:
        found = json.loads(text.removeprefix(_PREFIX))
    except ValueError:
        return text  # written by another program
    return found if isinstance(found, str) else text
