"""A tree of turns as branches: a turn goes on in the branch that ends with the one before it, or begins another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.ids import slug
from segue.model import MAIN

if TYPE_CHECKING:
    from segue.integrations.format.transcript import TranscriptTurn

_SHORT = 60


class Fork(NamedTuple):
    """A branch that has to be made first."""

    name: str
    parent: str
    at: int
    is_aside: bool


class BranchTracker:
    """Where every turn stands. The same steps in the same order always give the same branches."""

    def __init__(self) -> None:
        self._lengths = {MAIN: 0}
        self._ends = {MAIN: ""}
        self._places: dict[str, tuple[str, int]] = {}
        self._asides: dict[str, str] = {}
        self._latest = ""

    def __contains__(self, turn: str) -> bool:
        return turn in self._places

    def branch_of(self, turn: str) -> str:
        """Empty for a turn that is nowhere."""
        return self._places.get(turn, ("", 0))[0]

    def end_of(self, branch: str) -> str:
        """The last turn of its own that a branch has."""
        return self._ends.get(branch, "")

    def turn_count(self, branch: str) -> int:
        return self._lengths.get(branch, 0)

    def begin(self, name: str, at: int, *, aside: str = "") -> None:
        """A branch that is there already, or is made now."""
        self._lengths[name] = at
        self._ends[name] = ""
        if aside:
            self._asides[aside] = name

    def add(self, turn: str, branch: str) -> None:
        """A turn at the end of a branch."""
        self._lengths[branch] = self._lengths.get(branch, 0) + 1
        self._ends[branch] = self._latest = turn
        self._places[turn] = (branch, self._lengths[branch])

    def place(self, step: TranscriptTurn) -> tuple[str, Fork | None]:
        """The branch for a new turn, and what has to be made for it; where its place is lost, behind the last turn."""
        if step.side in self._asides:
            return self._asides[step.side], None
        if step.after:
            parent, at = self._places.get(step.after) or self._places.get(self._latest, (MAIN, self._lengths[MAIN]))
        else:
            parent, at = MAIN, 0
        if self._lengths[parent] == at and not step.side:
            return parent, None
        fork = Fork(self._free_name(step.side), parent, at, bool(step.side))
        return fork.name, fork

    def _free_name(self, wanted: str) -> str:
        if (name := slug(wanted, limit=_SHORT)) and name not in self._lengths:
            return name
        number = len(self._lengths) + 1
        while f"branch-{number}" in self._lengths:
            number += 1
        return f"branch-{number}"
