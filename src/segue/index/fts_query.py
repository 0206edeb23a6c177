"""What people type to find something, as FTS5 understands it: no text of theirs is ever an operator."""

from __future__ import annotations

import re

from segue.errors import UsageError

_TERM = re.compile(r'"([^"]*)"(\*?)|(\S+)')
_WORD = re.compile(r"\w", re.UNICODE)


def expression(text: str, *, unfinished: bool = False) -> str:
    """All of the words, in any order; `"words in quotes"` as they stand; `word*` for all that begins so.

    While it is being typed, the last word is `unfinished` and stands for all that begins so. UsageError if there is no
    word in it.
    """
    parts = _TERM.findall(text)
    last = len(parts) if unfinished and not text.endswith(" ") else 0
    terms = [_term(quoted or bare, star or "*" * (at == last)) for at, (quoted, star, bare) in enumerate(parts, 1)]
    found = [term for term in terms if term]
    if not found:
        raise UsageError(f"there is no word in {text!r}", hint="search for at least one letter or digit")
    return " ".join(found)


def _term(text: str, star: str) -> str:
    if not star and text.endswith("*"):
        text, star = text.rstrip("*"), "*"
    text = text.replace("\0", " ").encode("utf-8", "replace").decode()
    if not _WORD.search(text):
        return ""
    return '"' + text.replace('"', '""') + '"' + ("*" if star else "")
