"""A tree of turns as branches: a turn continues the branch that ends with the turn before it, or starts another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.ids import slug
from segue.model import MAIN

if TYPE_CHECKING:
    from segue.integrations.format.transcript import TranscriptTurn

_SHORT = 60


class NewBranch(NamedTuple):
    """A branch that has to be created first."""

    name: str
    parent: str
    at: int
    is_side: bool


class BranchTracker:
    """The branch of every turn. The same turns in the same order always give the same branches."""

    def __init__(self) -> None:
        self._lengths = {MAIN: 0}
        self._ends = {MAIN: ""}
        self._places: dict[str, tuple[str, int]] = {}
        self._sides: dict[str, str] = {}
        self._empty: dict[tuple[str, int], str] = {}
        self._latest = ""

    def __contains__(self, turn: str) -> bool:
        return turn in self._places

    def branch_of(self, turn: str) -> str:
        """The branch of a turn; empty if the turn is unknown."""
        return self._places.get(turn, ("", 0))[0]

    def end_of(self, branch: str) -> str:
        """The last turn of a branch; empty if it has none of its own."""
        return self._ends.get(branch, "")

    def turn_count(self, branch: str) -> int:
        return self._lengths.get(branch, 0)

    def begin(self, name: str, at: int, *, side: str = "", parent: str = "") -> None:
        """Add a branch, which exists already or is created now; `parent` if it continues where the tool does."""
        self._lengths[name] = at
        self._ends[name] = ""
        if parent:
            self._empty[parent, at] = name
        if side:
            self._sides[side] = name

    def add(self, turn: str, branch: str) -> None:
        """Add a turn to the end of a branch."""
        if self._empty and not self._ends.get(branch):
            self._empty = {place: name for place, name in self._empty.items() if name != branch}
        self._lengths[branch] = self._lengths.get(branch, 0) + 1
        self._ends[branch] = self._latest = turn
        self._places[turn] = (branch, self._lengths[branch])

    def place(self, entry: TranscriptTurn) -> tuple[str, NewBranch | None]:
        """The branch for a new turn, and the branch if it is new. Without a known parent, it follows the last turn."""
        if entry.side in self._sides:
            return self._sides[entry.side], None
        if entry.after:
            parent, at = self._places.get(entry.after) or self._places.get(self._latest, (MAIN, self._lengths[MAIN]))
        else:
            parent, at = MAIN, 0
        if not entry.side and not entry.is_undone:
            if self._lengths[parent] == at:
                return parent, None
            if (parent, at) in self._empty:
                return self._empty[parent, at], None
        fork = NewBranch(self._free_name(entry.side), parent, at, bool(entry.side))
        return fork.name, fork

    def continue_from(self, turn: str) -> tuple[str, NewBranch | None]:
        """The branch that ends with this turn, and the branch if it is new; empty if the turn is unknown."""
        branch, at = self._places.get(turn, ("", 0))
        if self._lengths.get(branch, 0) == at:
            return branch, None
        if (branch, at) in self._empty:
            return self._empty[branch, at], None
        fork = NewBranch(self._free_name(""), branch, at, is_side=False)
        return fork.name, fork

    def is_empty(self, branch: str) -> bool:
        """Whether it only marks where the tool continues."""
        return branch in self._empty.values()

    def follow(self, entry: TranscriptTurn) -> str | None:
        """Add the turn, and its branch if that is new; the name of the branch, or None if the turn is known."""
        if entry.turn.id in self._places:
            return None
        branch, fork = self.place(entry)
        if fork:
            self.begin(fork.name, fork.at, side=entry.side)
        self.add(entry.turn.id, branch)
        return branch

    def _free_name(self, wanted: str) -> str:
        if (name := slug(wanted, limit=_SHORT)) and name not in self._lengths:
            return name
        number = len(self._lengths) + 1
        while f"branch-{number}" in self._lengths:
            number += 1
        return f"branch-{number}"
