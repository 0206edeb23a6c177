"""Where the replies of an AI tool belong in the session that was handed over: on its branch, or on one of their own.

A user can rewind a conversation in a tool and say something else. Both stay: what was rewound on its branch, and what
was said instead on a new one, which then is the active one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.integrations.format.transcript import TranscriptBranch
from segue.model import MAIN, BranchCreated, Turn
from segue.transfer.turn_identity import MORE, find_continuation, identify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from segue.integrations.format.transcript import Transcript
    from segue.model import Event
    from segue.transfer.turn_identity import TurnIdentity


_REWIND = "branch:"
"""How the ids of branches start for what was said after a rewind."""


class ReplyPlaces:
    """The branch of every turn of a session, and of the replies that are added to it."""

    def __init__(self, events: Iterable[Event], branch: str) -> None:
        self._branch = branch
        """For replies that follow what was handed over."""
        self._lengths = {MAIN: 0}
        self._places: dict[str, tuple[str, int]] = {}
        self._identities: dict[str, TurnIdentity] = {}
        self._rewinds: set[str] = set()
        """The branches that were created here."""
        for event in events:
            if isinstance(event, Turn):
                self._add(event, event.branch)
            elif isinstance(event, BranchCreated):
                self._lengths[event.name] = event.at
                if event.id.startswith(_REWIND):
                    self._rewinds.add(event.name)

    def place(self, transcript: Transcript, is_wanted: Callable[[Turn], bool]) -> list[Turn | BranchCreated]:
        """The replies that are new, each with its branch, and those branches."""
        branches = transcript.branches or (TranscriptBranch(transcript.turns),)
        active = {turn.id for turn in transcript.turns}
        are_several = sum(not branch.instead_of for branch in branches) > 1
        found: list[Turn | BranchCreated] = []
        for branch in branches:
            turns = [turn for turn in branch.turns if is_wanted(turn)]
            if not branch.instead_of and are_several:  # where it was rewound to is not known
                turns = [turn for turn in turns if turn.id in active]
            if turns:
                found += self._place_branch(replace(branch, turns=tuple(turns)), transcript)
        return found

    def _place_branch(self, branch: TranscriptBranch, transcript: Transcript) -> list[Turn | BranchCreated]:
        """Place turns that follow each other. What a tool removes when the user rewinds is recorded here, and stays."""
        name, created = self._find_branch(branch, is_only=len(transcript.branches) <= 1)
        if created:
            return [*created, *self._add_all(branch.turns, name)]
        known = [turn for turn in branch.turns if turn.id in self._places]
        new = tuple(turn for turn in branch.turns if turn.id not in self._places)
        removed = self._find_removed(name, known[-1].id if known else branch.after, transcript) if new else ""
        if not removed:
            return self._add_all(branch.turns, name)
        rest = self._add_all(known, name)
        name, created = self._find_branch(TranscriptBranch(new, removed))
        return [*rest, *created, *self._add_all(new, name)]

    def _find_removed(self, branch: str, last: str, transcript: Transcript) -> str:
        """The message of the user after a turn that the tool has from which on it has removed all; else empty."""
        if transcript.damages:
            return ""
        has = {turn.id for turn in transcript.turns}
        has |= {turn.id for one in transcript.branches for turn in one.turns}
        of_tool = f"{transcript.tool}:{transcript.native_id}:"
        if last in self._places and not any(id.startswith(of_tool) for id in has):
            of_tool = f"{transcript.tool}:"  # its ids do not name the session
        after = self._places.get(last, ("", 0))[1] if self.branch_of(last) == branch or last not in has else 0
        gone = [
            (at, turn)
            for turn, (place, at) in self._places.items()
            if place == branch and at > after and turn.startswith(of_tool) and turn.partition(MORE)[0] not in has
        ]
        first = min(gone)[1] if gone else ""
        return first if first and self._identities[first].role == "user" else ""

    def branch_of(self, turn: str) -> str:
        """The branch of a turn; empty if it is not known."""
        return self._places.get(turn, ("", 0))[0]

    def _find_branch(self, branch: TranscriptBranch, *, is_only: bool = False) -> tuple[str, list[BranchCreated]]:
        """The branch in which its turns are recorded, or a new one in place of the turn that was rewound."""
        known = [name for turn in branch.turns if (name := self.branch_of(turn.id))]
        if known and is_only and not branch.instead_of:
            return known[-1] if known[-1] in self._rewinds else self._branch, []
        if known:
            return known[-1], []
        if branch.instead_of not in self._places:
            return self._branch, []
        parent, at = self._places[branch.instead_of]
        first, name = branch.turns[0], self._free_name()
        self._lengths[name] = at - 1
        id = f"{_REWIND}{first.id}"[:200]
        return name, [
            BranchCreated(name=name, parent=parent, at=at - 1, timestamp=first.timestamp, switch=False, id=id)
        ]

    def _free_name(self) -> str:
        number = len(self._lengths) + 1
        while f"branch-{number}" in self._lengths:
            number += 1
        return f"branch-{number}"

    def _add_all(self, turns: Iterable[Turn], branch: str) -> list[Turn | BranchCreated]:
        found: list[Turn | BranchCreated] = []
        for turn in turns:
            new = turn if turn.id not in self._places else self._find_rest(turn)
            if new is not None:
                self._add(new, branch)
                found.append(replace(new, branch=branch))
        return found

    def _find_rest(self, turn: Turn) -> Turn | None:
        """What the tool has added to a turn that is recorded; None if it has added nothing."""
        _, rest = find_continuation(turn, self._identities)
        return rest if rest is not None and (rest.content or rest.parts) else None

    def _add(self, turn: Turn, branch: str) -> None:
        self._lengths[branch] = self._lengths.get(branch, 0) + 1
        self._places[turn.id] = (branch, self._lengths[branch])
        self._identities[turn.id] = identify(turn)
