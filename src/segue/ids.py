"""Names of sessions and branches: their grammar, and how new ones are made.

The caller passes the time and the random bytes, so that the same call gives the same name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.errors import InvalidIdError

if TYPE_CHECKING:
    from datetime import datetime

GRAMMAR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TYPABLE = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing to misread aloud


def check_id(text: str, *, what: str = "session id") -> str:
    """Return the text if it is a valid id, else raise InvalidIdError. Every path is made from a checked id."""
    if not isinstance(text, str) or GRAMMAR.fullmatch(text) is None:
        raise InvalidIdError(str(text), what=what)
    return text


is_id = GRAMMAR.fullmatch
"""Truthy for what `check_id` returns."""


def slug(text: str, *, limit: int = 40) -> str:
    """The text as lower-case words joined by dashes; empty if it has no letters or digits."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:limit].rstrip("-")


def new_session_id(label: str, now: datetime, entropy: bytes) -> str:
    """`<label>-<date>-<time>-<4 letters>`: it begins with what the user remembers, then sorts by time."""
    number = int.from_bytes(entropy[:3])
    letters = "".join(_TYPABLE[(number >> shift) & 31] for shift in (0, 5, 10, 15))
    return f"{slug(label) or 'session'}-{now:%Y%m%d-%H%M%S}-{letters}"
