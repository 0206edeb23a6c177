"""The turns that were handed over to a tool which removes messages on a rewind, so that they can be missed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from segue.integrations.format.values import as_text, sendable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.integrations.format.outgoing import OutgoingMessage


def list_turns(outgoing: Sequence[OutgoingMessage]) -> list[str]:
    """What a writer records: for each message, the id of its turn, or an empty text."""
    return [sendable(message.turn) for message in outgoing]


class CopyOrder:
    """Made from what a writer recorded, which may be missing or wrong: then no turn is missed."""

    def __init__(self, recorded: object) -> None:
        self.turns = [as_text(turn) for turn in recorded] if isinstance(recorded, list) else []
        names = ["", *filter(None, self.turns)]
        self._next = {before: after for before, after in pairwise(names) if before != after}
        self._last = ""

    def pass_copy(self, turn: str) -> None:
        """The tool has a message of this turn."""
        self._last = turn or self._last

    def find_removed(self) -> str:
        """The turn that followed those which the tool has; empty if nothing did. It is missed once."""
        removed, self._next = self._next.get(self._last, ""), {}
        return removed
