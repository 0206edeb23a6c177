"""An answer to its end: where it wants something done, that is done and told, and the answer goes on."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from segue.tools.records import line_of, line_of_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from segue.chat.conversation import Conversation


def carry_out(
    conversation: Conversation,
    pieces: Generator[str, None, None],
    *,
    show: Callable[[Iterable[str]], None],
    notify: Callable[[str], None],
) -> None:
    """Show the pieces of an answer as they come, and tell of each call what it is and what came of it."""
    while True:
        with closing(pieces):
            show(pieces)
        if not conversation.calls:
            return
        for call in conversation.calls:
            notify(line_of(call))
            notify(f"  {line_of_outcome(conversation.perform(call))}")
        pieces = conversation.go_on()
