"""Words of texts: the same as those of the local index, because SQLite splits the texts here as well.

Postgres has its own idea of words (`src/auth/login.py` is one), so it gets the words as they are, without positions.
Whether a phrase occurs, and where, is asked of SQLite again for the few texts that have all its words.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from segue.formats.fts_query import BEGIN, END, TOKENIZER, clean_text, fts_query, parse_terms, split_snippet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_BYTES = 255
"""Postgres knows a longer word by its beginning."""
_MOST_BYTES = 900_000
"""Postgres has room for a little more than this in the words of a text. A text with more is known by beginnings."""
_COARSE, _COARSE_BYTES = "\x01", 3
_OF_TITLE = "\x02"
"""What every title and every summary has, and no other text."""
_MOST_WORDS = 200
"""A longer search text is looked up by its first words."""
_SNIPPET_WORDS = 24


class Words(NamedTuple):
    """The words of a text."""

    vector: str
    """As the text of a `tsvector`."""
    length: int
    """How many words the text has."""
    is_cut: bool
    """Whether only the beginnings of the words are known."""


class _Splitter(threading.local):
    """An empty full-text index in memory; each thread has its own."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.executescript(
            f"CREATE VIRTUAL TABLE texts USING fts5 (text, content='', tokenize='{TOKENIZER}');"
            "CREATE VIRTUAL TABLE tokens USING fts5vocab (texts, 'instance');"
        )

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text, by word and then in order."""
        found: list[list[str]] = [[] for _ in texts]
        self.connection.execute("BEGIN")
        try:
            rows = ((number, clean_text(text)) for number, text in enumerate(texts, 1))
            self.connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
            for term, number in self.connection.execute("SELECT term, doc FROM tokens"):
                found[number - 1].append(term)
        finally:
            self.connection.rollback()
        return found

    def split_in_order(self, text: str) -> list[str]:
        self.connection.execute("BEGIN")
        try:
            self.connection.execute("INSERT INTO texts (rowid, text) VALUES (1, ?)", (clean_text(text),))
            return [term for (term,) in self.connection.execute("SELECT term FROM tokens ORDER BY offset")]
        finally:
            self.connection.rollback()


_splitter = _Splitter()


def words_of(texts: Sequence[str], *, titles: int = 0) -> list[Words]:
    """The words of each text, for the table of words. The first ones are titles or summaries."""
    found = [_words(tokens) for tokens in _splitter.split(texts)]
    mark = _quote(_OF_TITLE)
    return [*(one._replace(vector=f"{one.vector} {mark}") for one in found[:titles]), *found[titles:]]


def _words(tokens: list[str]) -> Words:
    lexemes = {_cut(token, LONGEST_BYTES) for token in tokens}
    is_cut = sum(len(lexeme.encode()) for lexeme in lexemes) > _MOST_BYTES
    if is_cut:
        lexemes = {_COARSE + _cut(token, _COARSE_BYTES) for token in tokens}
    return Words(" ".join(map(_quote, lexemes)), len(tokens), is_cut)


def _cut(token: str, size: int) -> str:
    """The beginning of a word, at least its first character."""
    data = token.encode()
    return token if len(data) <= size else data[:size].decode("utf-8", "ignore") or token[0]


def _quote(lexeme: str) -> str:
    doubled = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


class Search(Struct, frozen=True, kw_only=True):
    """What a user searches for."""

    query: str
    """As the text of a `tsquery`: a text that matches has these words. Empty if nothing matches."""
    is_exact: bool
    """Whether every text with these words matches, unless it is known by beginnings of its words."""
    words: str
    """As a query of the local index."""


def parse_search(text: str, *, unfinished: bool = False) -> Search:
    """UsageError if there is no word in the text."""
    exact: list[str] = []
    coarse: list[str] = []
    is_exact = True
    for term, star in parse_terms(text, unfinished=unfinished):
        tokens = _splitter.split_in_order(term)
        is_exact &= len(tokens) <= 1
        for at, token in enumerate(tokens, 1):
            is_prefix = bool(star) and at == len(tokens)
            is_exact &= len(token.encode()) < LONGEST_BYTES
            exact.append(_operand(token, LONGEST_BYTES, "", is_prefix=is_prefix))
            coarse.append(_operand(token, _COARSE_BYTES, _COARSE, is_prefix=is_prefix))
    if len(exact) > _MOST_WORDS:
        is_exact = False
        del exact[_MOST_WORDS:], coarse[_MOST_WORDS:]
    query = f"({' & '.join(exact)}) | ({' & '.join(coarse)})" if exact else ""
    return Search(query=query, is_exact=is_exact, words=fts_query(text, unfinished=unfinished))


def in_titles(query: str) -> str:
    """The same query, for titles and summaries alone."""
    return f"({query}) & {_quote(_OF_TITLE)}"


def _operand(token: str, size: int, mark: str, *, is_prefix: bool) -> str:
    cut = _cut(token, size)
    return _quote(mark + cut) + (":*" if is_prefix and cut == token and len(token.encode()) < size else "")


class Matcher:
    """Finds those texts that match, exactly as the local index does."""

    def __init__(self, search: Search) -> None:
        self._words = search.words

    def match(self, texts: Sequence[str]) -> dict[int, int]:
        """By the place of a text that matches, how often the words or phrases occur in it, at least once."""
        with closing(self._filled(texts)) as connection:
            rows = connection.execute(
                "SELECT rowid, highlight(texts, 0, :begin, :end) FROM texts WHERE texts MATCH :words",
                {"begin": BEGIN, "end": END, "words": self._words},
            ).fetchall()
        return {number - 1: max(1, marked.count(BEGIN)) for number, marked in rows}

    def snippet(self, text: str) -> tuple[tuple[str, bool], ...]:
        """The part of a matching text around the match; empty if it does not match."""
        with closing(self._filled([text])) as connection:
            row = connection.execute(
                f"SELECT snippet(texts, 0, :begin, :end, '…', {_SNIPPET_WORDS}) FROM texts WHERE texts MATCH :words",  # noqa: S608 - a number
                {"begin": BEGIN, "end": END, "words": self._words},
            ).fetchone()
        return split_snippet(row[0]) if row is not None else ()

    def _filled(self, texts: Iterable[str]) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize='{TOKENIZER}')")
        connection.execute("BEGIN")
        rows = ((number, clean_text(text)) for number, text in enumerate(texts, 1))
        connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
        return connection
