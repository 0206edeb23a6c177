r"""Makes untrusted text safe to print: the only sanitiser before a terminal.

A transcript may contain anything from a model, a web page or a file, and a terminal obeys some of it. Characters that
could move the cursor, set the title, reach the clipboard or reorder text are printed as escapes: `\x1b`, `\u202e`.
"""

from __future__ import annotations

import re

_OBEYED = (
    "\x00-\x08\x0b-\x1f"  # C0 without tab and newline; a carriage return overwrites its line
    "\x7f-\x9f"  # DEL and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # marks, overrides and isolates that reorder text
    "\u2028\u2029"  # separators that some readers cut lines at
    "\ufeff\ufff9-\ufffb"  # marks that are invisible
    "\ud800-\udfff"  # lone surrogates, which no encoding accepts
    "\U000e0000-\U000e007f"  # tags: a second, invisible text
)
_PATTERN = re.compile(f"[{_OBEYED}]")
_LINE_PATTERN = re.compile(f"[\t\n{_OBEYED}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    """The text with every character that a terminal obeys made visible; newlines and tabs stay."""
    return _PATTERN.sub(_shown, text)


def one_line(text: str) -> str:
    """The same on one line, for names, cells and messages."""
    return _LINE_PATTERN.sub(_shown, text)


def escaped(json_text: str) -> str:
    """The same JSON without any such character: each is inside a string, where it can be escaped."""
    return _PATTERN.sub(_json_escape, json_text)


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 - two hex digits
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four hex digits


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0xFFFF:  # noqa: PLR2004 - as above
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
