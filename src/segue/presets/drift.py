"""Detects changes of a prompt: its hash, and a description of what changed.

Lines with the current date or folder differ every day and on every machine. They are normalized, so that only what the
author wrote counts.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segue.presets.preset import Preset

_SHOWN_LINES = 24
"""The maximum length of a diff: enough to recognize the change, and it fits on a screen."""

# A deadline in a prompt is part of its content; only a line about the present is normalized.
_ABOUT_NOW = re.compile(
    r"\b(?:today|it is now|(?:current|present|system|local) +(?:date|time|day|year|month)"
    r"|(?:now|date|time|timestamp) *[:=])",
    re.IGNORECASE,
)
_ABOUT_HERE = re.compile(
    r"\b(?:cwd|pwd|(?:current|working|project|root|home|workspace)[ _-]+(?:directory|dir|folder|path))\b", re.IGNORECASE
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? +)?"
_MOMENT = re.compile(
    rf"{_DAY}(?:"
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
    rf"|{_MONTH} +\d{{1,2}}(?:st|nd|rd|th)?(?:,? +\d{{4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\.? +{_MONTH}(?:,? +\d{{4}})?"
    r"|\d{1,2}:\d{2}|20\d{2}|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r")"
    r"(?:[T ,]* *(?:at +)?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(?: *[ap]\.?m\b\.?)?"
    r"(?: *(?:Z|UTC|GMT|[A-Z]{3,4}|[+-]\d{2}:?\d{2}))?\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"""(?:file://)?(?<![\w.])(?:~|/|[A-Za-z]:[\\/])[^\s"'`<>]*""")


def normalize_prompt(prompt: str) -> str:
    """The prompt without what changes by itself: volatile values, line endings, surrounding blank lines."""
    lines = (_normalize_line(line.rstrip()) for line in prompt.replace("\r\n", "\n").split("\n"))
    return "\n".join(lines).strip("\n")


def hash_prompt(prompt: str) -> str:
    """`sha256:…` of the normalized prompt."""
    return f"sha256:{hashlib.sha256(normalize_prompt(prompt).encode('utf-8', 'surrogatepass')).hexdigest()}"


def describe_drift(old_hash: str, old_text: str | None, preset: Preset) -> str | None:
    """The message for a user who resumes; None if the prompt is unchanged, or its old hash is not known."""
    if not old_hash or old_hash == preset.hash:
        return None
    message = f"the prompt of {preset.name} has changed since this session used it"
    if old_text is None or hash_prompt(old_text) != old_hash:
        return message
    old, new = normalize_prompt(old_text).split("\n"), normalize_prompt(preset.system_prompt).split("\n")
    changes = list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]
    more = len(changes) - _SHOWN_LINES
    shown = [*changes[:_SHOWN_LINES], f"… and {more} more lines"] if more > 0 else changes
    return "\n".join([f"{message}:", *shown])


def _normalize_line(line: str) -> str:
    if _ABOUT_NOW.search(line):
        line = _MOMENT.sub("<moment>", line)
    if _ABOUT_HERE.search(line):
        line = _PATH.sub("<path>", line)
    return line
