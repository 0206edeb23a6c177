"""Decisions that an answer states: `[DECISION: Refresh the token early]`."""

from __future__ import annotations

import re

LENGTH = 1000
"""A decision is a sentence; a longer text between the brackets is none."""

_STATED = re.compile(rf"\[DECISION:((?:[^\[\]]|\[[^\[\]]{{0,{LENGTH}}}\]){{1,{LENGTH}}})\]", re.IGNORECASE)


def find_decisions(text: str) -> tuple[str, ...]:
    """Each once, in order, on one line; a mere placeholder (`[DECISION: …]`) is none."""
    found = (" ".join(match[1].split()) for match in _STATED.finditer(text))
    return tuple(dict.fromkeys(content for content in found if any(char.isalnum() for char in content)))
