"""Writes the words of texts into the table of words, in short statements that any number of processes may make."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from segue.errors import Damage
from segue.formats.search_texts import event_texts
from segue.stores.postgres.query_statements import TEXT_KINDS, QueryStatements
from segue.stores.postgres.reading import read_event
from segue.stores.postgres.text_columns import from_column
from segue.stores.postgres.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from segue.queries import IndexedText
    from segue.stores.postgres.tables import Tables

_FIRST_ROWS, _MOST_ROWS, _PAGE_BYTES = 50, 500, 2 << 20
_ABANDONED = 100
WordRow = tuple[int, int, str, int, bool, str]
"""The seq, the part, the kind, the number of words, whether they are cut, and the words."""
_COLUMNS = ("seqs", "parts", "text_kinds", "lengths", "cuts", "words")
TITLE, SUMMARY = 0, 1
"""The parts of event 0, which stands for the session itself."""


def index_words(tables: Tables, space: int, key: int, *, pages: int | None = None) -> None:
    """Add the words of all events of a session that have none yet, or of some pages of them.

    What another process adds meanwhile is left to it. Whatever was not added is found by reading the events.
    """
    statements = QueryStatements(tables.address.schema)
    doing, here = "index the words of a session", {"space": space, "key": key}
    rows = _FIRST_ROWS
    for _ in count() if pages is None else range(pages):
        found = tables.ask(doing, statements.due_texts, **here, kinds=list(TEXT_KINDS), rows=rows)
        if not found:
            return
        known, seq, title, summary = found[0][:4]
        page = [row[4:] for row in found if row[4] is not None]
        is_last = len(page) < rows
        upto = seq if is_last else page[-1][0]
        texts = (texts_of(*event) for event in page)
        columns = zip(*word_rows(from_column(title), from_column(summary), texts), strict=True)
        values = dict(zip(_COLUMNS, map(list, columns), strict=True))
        if not tables.ask(doing, statements.put_words, **here, **values, known=known, upto=upto) or is_last:
            return
        size = sum(len(body) for *_, body in page)
        rows = max(1, min(_MOST_ROWS, _PAGE_BYTES * len(page) // (size + 1)))


def word_rows(title: str, summary: str, events: Iterable[Sequence[IndexedText]]) -> list[WordRow]:
    """The rows of the title, the summary and the texts of each event."""
    texts: list[tuple[int, int, str, str]] = [(0, TITLE, "title", title), (0, SUMMARY, "summary", summary)]
    texts += [(one.seq, part, one.kind, one.text) for event in events for part, one in enumerate(event)]
    words = words_of([text for *_, text in texts], titles=2)
    return [
        (seq, part, kind, one.length, one.is_cut, one.vector)
        for (seq, part, kind, _), one in zip(texts, words, strict=True)
    ]


def index_abandoned(tables: Tables, space: int) -> None:
    """Add the words that killed writers left to do, a bounded number of sessions at a time."""
    statements = QueryStatements(tables.address.schema)
    for (key,) in tables.ask("look for words to index", statements.abandoned, space=space, rows=_ABANDONED):
        index_words(tables, space, key)


def texts_of(seq: int, id: str, body: bytes) -> list[IndexedText]:
    """What can be found of an event; nothing of one that is damaged."""
    event = read_event((seq, id, body))
    return [] if isinstance(event, Damage) else list(event_texts(event))
