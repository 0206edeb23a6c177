"""What a session asks for that this user has not set here, so that the user can agree to all of it at once."""

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
"""The parts of a session that need trust. REACH is an agent with any of its models."""


class SessionInfo(Protocol):
    """The part of a session that tells what it asks for. The session may be open for writing or only read."""

    @property
    def store(self) -> Store: ...

    @property
    def id(self) -> str: ...

    @property
    def overview(self) -> Overview: ...


class TrustRequest(Struct, frozen=True, kw_only=True):
    """One part of a session that needs the agreement of the user."""

    part: str
    content: object
    """Agreement covers exactly this value."""
    text: str
    """The description for the user; a scope has several lines."""
    where: str = ""

    def is_granted(self, marks: Marks) -> bool:
        return marks.has(self.part, self.content, where=self.where)

    def grant(self, marks: Marks) -> None:
        marks.put(self.part, self.content, where=self.where)


def tools_request(names: Sequence[str], source: str) -> TrustRequest:
    return TrustRequest(part=TOOLS, content=list(names), text=f"{', '.join(names)} (named by {source})")


def format_trust_requests(requests: Sequence[TrustRequest]) -> str:
    """List all requests. Every line is labelled or indented, so that no content can pass for a line of Segue."""
    lines = ["This session was not set up by you on this machine. It asks for:"]
    for request in requests:
        name = AGENT if request.part == REACH else request.part
        texts = request.text.rstrip("\n").split("\n") if request.part == SCOPE else [request.text]
        lines += [
            f"  {label:<6} {one_line(text)}" for label, text in zip([name, *[""] * len(texts)], texts, strict=False)
        ]
    return "\n".join(lines)
