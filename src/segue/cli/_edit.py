"""What the verbs that change a session share: they lock it briefly and leave its status unchanged."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from segue.console import output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.library import Library
    from segue.session import LiveSession


@contextmanager
def editing(library: Library, id: str) -> Iterator[LiveSession]:
    """The session, locked for writing until the block ends."""
    live = library.open(id)
    try:
        yield live
    finally:
        live.release()


def print_change(library: Library, id: str, sentence: str, *, as_json: bool) -> None:
    """Report a change: as a sentence, or with `as_json` as the session now is."""
    if as_json:
        from segue.formats.transcript import to_json_object

        output.data(to_json_object(library.store.head(id)))
    else:
        output.note(sentence)
