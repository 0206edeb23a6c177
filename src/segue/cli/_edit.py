"""What the verbs that change a session share: they lock it briefly and leave its status unchanged."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from segue.cli._lookup import find_stored
from segue.console import output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.library import Library
    from segue.session import LiveSession


@contextmanager
def editing(library: Library, text: str) -> Iterator[LiveSession]:
    """The session that the text means, locked for writing until the block ends."""
    found = find_stored(library, text)
    live = found.library.open(found.id)
    try:
        yield live
    finally:
        live.release()


def print_change(live: LiveSession, sentence: str, *, as_json: bool) -> None:
    """Report a change after the session was released: as a sentence, or with `as_json` as the session now is."""
    if as_json:
        from segue.formats.transcript import to_json_object

        output.data(to_json_object(live.store.head(live.id)))
    else:
        output.note(sentence)
