"""What a session asks for, put together when everything is resolved, so that a person can say yes to it as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Overview
    from segue.store import Store
    from segue.trust import Marks

AGENT, REACH, TOOLS, SCOPE = "agent", "reach", "tools", "scope"


class SessionInfo(Protocol):
    """As much of a session as it takes to know what it asks for: a live one, or one that is only read."""

    @property
    def store(self) -> Store: ...

    @property
    def id(self) -> str: ...

    @property
    def overview(self) -> Overview: ...


class Demand(Struct, frozen=True, kw_only=True):
    """One part of it that this user has not set here."""

    part: str
    content: object
    """What is agreed to: exactly this, and nothing else."""
    words: str
    """What a person is shown; many lines where it has many."""
    where: str = ""

    def is_known(self, marks: Marks) -> bool:
        return marks.has(self.part, self.content, where=self.where)

    def agree(self, marks: Marks) -> None:
        marks.put(self.part, self.content, where=self.where)


def tools_demand(names: Sequence[str], source: str) -> Demand:
    return Demand(part=TOOLS, content=list(names), words=f"{', '.join(names)} (named by {source})")


def shown(demands: Sequence[Demand]) -> str:
    """All of it, so that nothing in it can pretend to be a line of ours."""
    lines = ["This session was not set up by you on this machine. It asks for:"]
    for demand in demands:
        name = AGENT if demand.part == REACH else demand.part
        said = demand.words.rstrip("\n").split("\n") if demand.part == SCOPE else [demand.words]
        lines += [
            f"  {label:<6} {one_line(line)}" for label, line in zip([name, *[""] * len(said)], said, strict=False)
        ]
    return "\n".join(lines)
