"""Turns what users type into a query of FTS5; nothing that they type is an operator."""

from __future__ import annotations

import re

from segue.errors import UsageError

_TERM = re.compile(r'"([^"]*)"(\*?)|(\S+)')
_WORD = re.compile(r"\w", re.UNICODE)


def fts_query(text: str, *, unfinished: bool = False) -> str:
    """All words must match, in any order; `"a phrase"` matches exactly, `word*` a prefix.

    The last word of an `unfinished` text, which is still being typed, matches as a prefix. UsageError if there is no
    word.
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
