"""The branches of a session as the SDK knows them, on the branches of Segue.

What the SDK takes away is never destroyed: to remove an item, or all of them, makes a new version of the branch that
shares what is left. The versions of `main` are called main, main.2, main.3 …; the latest is the branch of that name for
the SDK, or the one that the user switched to. A record with the name `branches` says which version is the latest, what
the branch is called if its name is not one for Segue, and which branches were deleted.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct, ValidationError, convert, to_builtins

from segue.bridges.sessions import new_record
from segue.ids import is_id, slug
from segue.model import BranchCreated
from segue.model.session import MAIN

if TYPE_CHECKING:
    from datetime import datetime

    from segue.model import Overview, Record

_RECORD = "branches"
_VERSION = re.compile(r"(.+)\.(\d{1,9})")
_LONGEST = 100
"""The length of a name that leaves room for the number of a version."""


class BranchState(Struct, kw_only=True, omit_defaults=True):
    """What the record says."""

    generation: int = 0
    """How often the session was cleared."""
    latest: dict[str, str] = {}
    """By branch: its latest version, if that is not the first."""
    names: dict[str, str] = {}
    """By branch: what the SDK calls it, if that is something else."""
    deleted: list[str] = []


class Branches:
    """The branches as of an overview. A branch is named by its first version."""

    def __init__(self, overview: Overview) -> None:
        self.overview = overview
        self.state = _state_of(overview)
        self.active = self.first_version(overview.branch)

    def first_version(self, name: str) -> str:
        found = _VERSION.fullmatch(name)
        return found[1] if found and found[1] in self.overview.branches else name

    def latest(self, branch: str) -> str:
        """The version that the SDK reads and writes."""
        if branch == self.active:
            return self.overview.branch
        return self.state.latest.get(branch, branch)

    def count(self, branch: str) -> int:
        """How many turns it has."""
        return self.overview.branches[self.latest(branch)].turn_count

    def visible(self) -> list[str]:
        gone = set(self.state.deleted)
        return [name for name in self.overview.branches if name not in gone and self.first_version(name) == name]

    def find(self, name: str) -> str | None:
        """The branch that the SDK calls so, also if it was deleted; None if there has never been one."""
        for branch, called in self.state.names.items():
            if called == name:
                return branch
        is_own = name in self.overview.branches and self.first_version(name) == name and name not in self.state.names
        return name if is_own else None

    def name_of(self, branch: str) -> str:
        return self.state.names.get(branch, branch)

    def current(self, generation: int, branch: str | None) -> str:
        """The branch of an object that has chosen one in this generation; others are on the active one."""
        if branch is None:
            return self.active
        if generation != self.state.generation or branch not in self.overview.branches:
            return MAIN
        return branch

    # ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def new_version(self, branch: str, keep: int, *, moment: datetime, id: str) -> BranchCreated:
        """Begin a version that shares the first `keep` turns of the latest one, and make it the latest."""
        event = BranchCreated(
            name=self._free(branch),
            parent=self._holder(self.latest(branch), keep),
            at=keep,
            switch=branch == self.active,
            timestamp=moment,
            id=id,
        )
        self.state.latest = {**self.state.latest, branch: event.name}
        return event

    def new_branch(self, name: str, source: str, keep: int, *, moment: datetime, id: str) -> BranchCreated:
        """Begin another branch with the first `keep` turns of the source, and switch to it."""
        branches = self.overview.branches
        branch = name
        if not is_id(name) or _VERSION.fullmatch(name) or len(name) > _LONGEST or name in branches:
            whole = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
            branch = f"{slug(name) or 'branch'}-{whole[:8]}"
            self.state.names = {**self.state.names, branch: name}
        self.remember_latest()
        parent = self._holder(self.latest(source), keep)
        return BranchCreated(name=branch, parent=parent, at=keep, timestamp=moment, id=id)

    def clear(self, *, moment: datetime, id: str) -> BranchCreated:
        """Delete all branches and begin again with an empty one."""
        event = BranchCreated(name=self._free(MAIN), parent=MAIN, at=0, timestamp=moment, id=id)
        self.state.generation += 1
        self.state.latest = {MAIN: event.name}
        self.state.deleted = [name for name in self.overview.branches if name != MAIN]
        self.state.deleted = [name for name in self.state.deleted if self.first_version(name) == name]
        return event

    def delete(self, branch: str) -> None:
        self.remember_latest()
        self.state.deleted = [*self.state.deleted, branch]

    def remember_latest(self) -> None:
        """The active version is the latest also after a switch to another branch."""
        if self.state.latest.get(self.active, self.active) != self.overview.branch:
            self.state.latest = {**self.state.latest, self.active: self.overview.branch}

    def record(self) -> Record | None:
        """The record of the state; None if it has not changed."""
        if self.state == _state_of(self.overview):
            return None
        return new_record("openai-agents", to_builtins(self.state), name=_RECORD)

    def _free(self, branch: str) -> str:
        """The name of the next version."""
        found = _VERSION.fullmatch(self.latest(branch))
        number = int(found[2]) + 1 if found and found[1] == branch else 2
        while (name := f"{branch}.{number}") in self.overview.branches:
            number += 1
        return name

    def _holder(self, name: str, keep: int) -> str:
        """The branch that has these turns: of a branch without turns of its own, the one that it began on."""
        branches = self.overview.branches
        for _ in branches:  # in a damaged session, they may be a circle
            if keep > branches[name].at or branches[name].parent not in branches:
                break
            name = branches[name].parent
        return name


def _state_of(overview: Overview) -> BranchState:
    """What the record says; a record that another program wrote, or a person, says nothing."""
    found = overview.records.get(_RECORD)
    if found is None:
        return BranchState()
    try:
        state = convert(found.data, BranchState)
    except ValidationError:
        return BranchState()
    state.latest = {name: at for name, at in state.latest.items() if at in overview.branches}
    return state
