"""What full-text search has in common wherever it runs: the words that users type as a query of FTS5, and snippets."""

from __future__ import annotations

import re

from segue.errors import UsageError

TOKENIZER = "unicode61 remove_diacritics 2"
"""How FTS5 splits a text into words."""
BEGIN, END = "\x02", "\x03"
"""The marks of a match in a snippet."""
_CLEAN = {0: " ", ord(BEGIN): " ", ord(END): " "}
_TERM = re.compile(r'"([^"]*)"(\*?)|(\S+)')
_WORD = re.compile(r"\w", re.UNICODE)


def fts_query(text: str, *, unfinished: bool = False) -> str:
    """All words must match, in any order; `"a phrase"` matches exactly, `word*` a prefix.

    Nothing that users type is an operator. The last word of an `unfinished` text, which is still being typed, matches
    as a prefix. UsageError if there is no word.
    """
    terms = parse_terms(text, unfinished=unfinished)
    return " ".join('"' + term.replace('"', '""') + '"' + star for term, star in terms)


def parse_terms(text: str, *, unfinished: bool = False) -> list[tuple[str, str]]:
    """The words and phrases that a user types, each with a star if it is a prefix. UsageError if there is no word."""
    parts = _TERM.findall(text)
    last = len(parts) if unfinished and not text.endswith(" ") else 0
    terms = [_term(quoted or bare, star or "*" * (at == last)) for at, (quoted, star, bare) in enumerate(parts, 1)]
    found = [term for term in terms if _WORD.search(term[0])]
    if not found:
        raise UsageError(f"there is no word in {text!r}", hint="search for at least one letter or digit")
    return found


def _term(text: str, star: str) -> tuple[str, str]:
    if not star and text.endswith("*"):
        text, star = text.rstrip("*"), "*"
    return text.replace("\0", " ").encode("utf-8", "replace").decode(), "*" if star else ""


def clean_text(text: str) -> str:
    """Without what SQLite cannot store (surrogates) and the marks that snippets have."""
    return text.encode("utf-8", "replace").decode().translate(_CLEAN)


def split_snippet(snippet: str) -> tuple[tuple[str, bool], ...]:
    """The parts of a marked text, each with whether it matches."""
    first, *marked = snippet.split(BEGIN)
    spans = [(first, False)]
    for part in marked:
        found, _, rest = part.partition(END)
        spans += [(found, True), (rest, False)]
    return tuple((text, is_found) for text, is_found in spans if text)
