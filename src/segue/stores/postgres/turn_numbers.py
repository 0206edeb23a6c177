"""The numbers of turns on their branches, counted in the database for the few turns that are shown."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import SegueError
from segue.model import MAIN
from segue.stores.postgres.query_statements import QueryStatements
from segue.stores.postgres.text_columns import to_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.model import Overview
    from segue.queries import IndexedText
    from segue.stores.postgres.tables import Tables


class TurnPlace(NamedTuple):
    """Where a turn is."""

    key: int
    session_id: str
    seq: int
    branch: str


class TurnNumbers:
    def __init__(self, tables: Tables, overview: Callable[[str], Overview]) -> None:
        self._tables = tables
        self._overview = overview
        self._statement = QueryStatements(tables.address.schema).own_numbers

    def find(self, space: int, places: Sequence[TurnPlace]) -> dict[tuple[int, int], int]:
        """By key and seq, the number of each turn, from 1; 0 if it is not known."""
        if not places:
            return {}
        rows = self._tables.ask(
            "count turns",
            self._statement,
            space=space,
            keys=[place.key for place in places],
            seqs=[place.seq for place in places],
            branches=[to_column(place.branch) for place in places],
        )
        own = {(key, seq): number for key, seq, number in rows}
        return {(place.key, place.seq): self._number(place, own[place.key, place.seq]) for place in places}

    def numbered(self, session_id: str, space: int, key: int, texts: Sequence[IndexedText]) -> list[IndexedText]:
        """The same texts of turns, with their numbers."""
        places = [TurnPlace(key, session_id, text.seq, text.branch) for text in texts]
        numbers = self.find(space, places)
        return [replace(text, turn=numbers[key, text.seq]) for text in texts]

    def _number(self, place: TurnPlace, own: int) -> int:
        if place.branch == MAIN:
            return own
        with suppress(SegueError):
            branch = self._overview(place.session_id).branches.get(place.branch)
            return branch.at + own if branch is not None else 0
        return 0
