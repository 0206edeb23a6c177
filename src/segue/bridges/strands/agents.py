"""The agents of a session: each has a branch for its messages, and a named record for its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from segue.ids import is_id, slug
from segue.model import MAIN, JsonObject

if TYPE_CHECKING:
    from segue.model import Overview

KIND = "agent"


class StoredAgent(Struct, frozen=True, kw_only=True):
    """An agent as its record has it."""

    id: str
    branch: str
    """Where its next message belongs."""
    packed: JsonObject
    """Its state, as Strands gives it."""

    @property
    def data(self) -> JsonObject:
        return {"branch": self.branch, **self.packed}


def record_name(agent_id: str) -> str:
    return f"{KIND}:{agent_id}"


def find_agent(overview: Overview, agent_id: str) -> StoredAgent | None:
    """The agent, with the branch that it continues: the active one if that is its own or a fork of it."""
    record = overview.records.get(record_name(agent_id))
    if record is None:
        return None
    branch = record.data.get("branch")
    if not isinstance(branch, str) or branch not in overview.branches:
        branch = overview.branch  # of a record that another program changed
    elif _root(overview, overview.branch) == _root(overview, branch):
        branch = overview.branch
    packed = {key: value for key, value in record.data.items() if key != "branch"}
    return StoredAgent(id=agent_id, branch=branch, packed=packed)


def new_branch(overview: Overview, name: str) -> str:
    """A branch for an agent, named after it as far as the name of a branch can be."""
    wanted = name if is_id(name) else slug(name) or KIND
    return free_branch(overview, wanted) if wanted in overview.branches else wanted


def free_branch(overview: Overview, name: str) -> str:
    """The name with the next number that is free."""
    number = 2
    while (found := f"{name[:100]}-{number}") in overview.branches:
        number += 1
    return found


def _root(overview: Overview, name: str) -> str:
    """The branch that an agent began with, of which this one is a fork."""
    for _ in overview.branches:  # a damaged file may have a cycle
        parent = overview.branches[name].parent
        if parent == MAIN or parent not in overview.branches:
            return name
        name = parent
    return name
