"""Branches of a session of the SDK, its turns one by one, and what they have used."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from segue.bridges.openai_agents.branches import Branches
from segue.bridges.openai_agents.conversation import RunUsage, as_timestamp, entries_of, parse_usage
from segue.bridges.openai_agents.history import Choice, History
from segue.bridges.openai_agents.items import is_user_message, items_of
from segue.bridges.sessions import new_id, new_record
from segue.clock import utc_now
from segue.model import BranchSwitched, Record
from segue.model.session import MAIN

if TYPE_CHECKING:
    from segue.model import JsonObject

USAGE = "openai-agents-usage"
"""The kind of a record with what a run has used."""
_FIRST_WINDOW = 16


class BranchedHistory(History):
    """See History."""

    def create_branch(self, name: str | None, number: int, choice: Choice) -> str:
        """A branch with what was there before this message of the user, which it switches to; its name."""
        if self.sessions.overview(self.name) is None:
            raise ValueError(_no_message(number, MAIN))
        with self.sessions.writing(self.name, create=False) as session:
            branches = Branches(session.overview)
            source = self._branch(branches, choice)
            if name is not None and branches.find(name) is not None:
                raise ValueError(f"Branch ID '{name}' has already been used. Choose a new branch ID.")
            name = name or _free_name(branches, number)
            keep = self._place_of(branches, source, number)
            event = branches.new_branch(name, source, keep, moment=utc_now(), id=new_id())
            self._record(session, branches, [event])
            self.choice = Choice(branches.state.generation, event.name)
            return name

    def switch(self, name: str) -> None:
        if self.sessions.overview(self.name) is None:
            raise ValueError(f"Branch '{name}' does not exist")
        with self.sessions.writing(self.name, create=False) as session:
            branches = Branches(session.overview)
            branch = _existing(branches, name)
            branches.remember_latest()
            self._record(session, branches, self._switched(branches, branch))
            self.choice = Choice(branches.state.generation, branch)

    def delete_branch(self, name: str, *, force: bool) -> None:
        if self.sessions.overview(self.name) is None:
            raise ValueError(f"Branch '{name}' does not exist")
        with self.sessions.writing(self.name, create=False) as session:
            branches = Branches(session.overview)
            is_current = name == branches.name_of(self._branch(branches))
            if is_current and not force:
                raise ValueError(f"Cannot delete current branch '{name}'. Use force=True or switch branches first")
            branch = _existing(branches, name)
            branches.delete(branch)
            self._record(session, branches, self._switched(branches, MAIN) if branch == branches.active else [])
            if is_current:
                self.choice = Choice(branches.state.generation, MAIN)

    def list_branches(self) -> list[JsonObject]:
        branches = self.branches()
        if branches is None:
            return []
        current = self._branch(branches)
        found = [branch for branch in branches.visible() if branches.count(branch) or branch not in {MAIN, current}]
        found.sort(key=lambda branch: branches.overview.branches[branch].created_at)
        return [
            {
                "branch_id": branches.name_of(branch),
                "message_count": branches.count(branch),
                "user_turns": self._number_at(branches, branch, branches.count(branch)),
                "is_current": branch == current,
                "created_at": as_timestamp(branches.overview.branches[branch].created_at),
            }
            for branch in found
        ]

    def usage(self, branch: str | None, *, everywhere: bool = False) -> list[RunUsage]:
        """What was stored for the turns that are still there, in the order of the turns."""
        branches = self.branches()
        if branches is None:
            return []
        at = self._branch(branches) if branch is None else branches.find(branch)
        found: dict[tuple[str, int], RunUsage] = {}
        for event in self.sessions.read(self.name):
            if isinstance(event, Record) and event.kind == USAGE and (usage := parse_usage(event.data)) is not None:
                found[usage.branch, usage.turn] = usage
        shown = {name for name in branches.visible() if everywhere or name == at}
        there = {name: {turn.id for turn in self._tail(branches, name, None)} for name in shown}
        left = [usage for usage in found.values() if usage.first in there.get(usage.branch, ())]
        return sorted(left, key=lambda usage: usage.turn)

    def store_usage(self, usage: JsonObject, choice: Choice) -> None:
        """Record what the run of the latest turn has used."""
        if self.sessions.overview(self.name) is None:
            return
        with self.sessions.writing(self.name, create=False) as session:
            branches = Branches(session.overview)
            branch = self._branch(branches, choice)
            if choice.branch is not None and choice.generation != branches.state.generation:
                return  # the session was cleared since
            if (first := self._first_of_last(branches, branch)) is not None:
                turn = self._number_at(branches, branch, branches.count(branch))
                data = {"branch": branch, "turn": turn, "first": first, **usage}
                session.record(new_record(USAGE, data), ids_are_new=True)

    def _switched(self, branches: Branches, branch: str) -> list[BranchSwitched]:
        if branch == branches.active:
            return []
        return [BranchSwitched(branch=branches.latest(branch), timestamp=utc_now(), id=new_id())]

    def _place_of(self, branches: Branches, branch: str, number: int) -> int:
        """How many turns are before this message of the user."""
        turns = self._tail(branches, branch, None)
        for entry in entries_of(turns, self.get_blob):
            if entry.number == number and is_user_message(entry.item):
                return entry.place
        raise ValueError(_no_message(number, branches.name_of(branch)))

    def _first_of_last(self, branches: Branches, branch: str) -> str | None:
        """The id of the turn with the user's latest message, or of the first turn; None if there is none."""
        window = _FIRST_WINDOW
        while True:
            turns = self._tail(branches, branch, window)
            for turn in reversed(turns):
                if any(map(is_user_message, items_of(turn, self.get_blob))):
                    return turn.id
            if len(turns) < window:
                return turns[0].id if turns else None
            window *= 4


def _existing(branches: Branches, name: str) -> str:
    branch = branches.find(name)
    if branch is None or branch in branches.state.deleted:
        raise ValueError(f"Branch '{name}' does not exist")
    return branch


def _free_name(branches: Branches, number: int) -> str:
    name = base = f"branch_from_turn_{number}_{int(time.time())}"
    more = 1
    while branches.find(name) is not None:
        more += 1
        name = f"{base}_{more}"
    return name


def _no_message(number: int, branch: str) -> str:
    return f"Turn {number} does not contain a user message in branch '{branch}'"
