"""Writes the words of texts into the table of words, in short statements that any number of processes may make."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from segue.errors import Damage, SegueError
from segue.formats.search_texts import event_texts
from segue.stores.postgres.query_statements import TEXT_KINDS, QueryStatements
from segue.stores.postgres.reading import read_event
from segue.stores.postgres.text_columns import from_column
from segue.stores.postgres.words import words_of

if TYPE_CHECKING:
    from segue.queries import IndexedText
    from segue.stores.postgres.tables import Tables

_FIRST_ROWS, _MOST_ROWS, _PAGE_BYTES = 50, 500, 2 << 20
_ABANDONED = 100
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
        texts = [(0, TITLE, "title", from_column(title)), (0, SUMMARY, "summary", from_column(summary))]
        for number, id, body in page:
            texts += [(number, part, one.kind, one.text) for part, one in enumerate(texts_of(number, id, body))]
        words = words_of([text for *_, text in texts], titles=2)
        values = {
            "known": known,
            "upto": upto,
            "seqs": [text[0] for text in texts],
            "parts": [text[1] for text in texts],
            "text_kinds": [text[2] for text in texts],
            "lengths": [one.length for one in words],
            "cuts": [one.is_cut for one in words],
            "words": [one.vector for one in words],
        }
        if not tables.ask(doing, statements.put_words, **here, **values) or is_last:
            return
        size = sum(len(body) for *_, body in page)
        rows = max(1, min(_MOST_ROWS, _PAGE_BYTES * len(page) // (size + 1)))


def index_abandoned(tables: Tables, space: int) -> None:
    """Add the words that killed writers left to do, a bounded number of sessions at a time."""
    statements = QueryStatements(tables.address.schema)
    for (key,) in tables.ask("look for words to index", statements.abandoned, space=space, rows=_ABANDONED):
        index_words(tables, space, key)


def try_to_index(tables: Tables, space: int) -> bool:
    """Like `index_abandoned`; False where this role may not, or the server accepts no writes."""
    try:
        index_abandoned(tables, space)
    except SegueError:
        return False
    return True


def texts_of(seq: int, id: str, body: bytes) -> list[IndexedText]:
    """What can be found of an event; nothing of one that is damaged."""
    event = read_event((seq, id, body))
    return [] if isinstance(event, Damage) else list(event_texts(event))
