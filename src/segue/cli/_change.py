"""What the verbs that change a session share: they hold it no longer than needed and leave its status to its owner."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from segue.console import output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.library import Library
    from segue.session import LiveSession


@contextmanager
def writing(library: Library, id: str) -> Iterator[LiveSession]:
    live = library.open(id)
    try:
        yield live
    finally:
        live.release()


def report(library: Library, id: str, sentence: str, *, as_json: bool) -> None:
    """Say what was done: to a person in a sentence, to a program as the session now is."""
    if as_json:
        from segue.formats.transcript import to_json_object

        output.data(to_json_object(library.store.head(id)))
    else:
        output.note(sentence)
