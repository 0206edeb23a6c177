"""A branch under another name: its events, and a note of the old name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.dialects.gptel.format.assembly import EDITED
from segue.model import BranchCreated, BranchSwitched, Turn, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.model import Event, JsonObject

_RENAMED = "renamed"


def with_branch_renamed(events: list[Event], old: str, new: str) -> list[Event]:
    """The events with this branch under its new name, and one event that contains both names.

    The old name counts as removed, so that a folder that still has it is no other branch.
    """
    data: JsonObject = {"branch": old, _RENAMED: new, "added": [], "removed": []}
    last = events[-1].seq
    note = Unknown(type=EDITED, data=data, id=f"{_RENAMED}-{last}", seq=last + 1)
    return [*[_renamed(event, old, new) for event in events], note]


def _renamed(event: Event, old: str, new: str) -> Event:
    match event:
        case Turn(branch=name) | BranchSwitched(branch=name) if name == old:
            return replace(event, branch=new)
        case BranchCreated(name=name, parent=parent) if old in {name, parent}:
            return replace(event, name=new if name == old else name, parent=new if parent == old else parent)
        case _:
            return event


def renamed_branches(events: Iterable[Event]) -> dict[str, str]:
    """The new names of renamed branches, by the old ones."""
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, Unknown) and event.type == EDITED:
            old, new = event.data.get("branch"), event.data.get(_RENAMED)
            if isinstance(old, str) and isinstance(new, str):
                found[old] = new
    return found
