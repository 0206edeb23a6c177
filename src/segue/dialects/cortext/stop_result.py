"""The result of stopping a conversation, with the confirmation for the user."""

from __future__ import annotations

from msgspec import Struct

from segue.git import CommitResult
from segue.model import Status


class StopResult(Struct, frozen=True, kw_only=True):
    """The result of stopping a conversation. It is saved, even if the notes report problems."""

    id: str
    title: str
    summary: str
    status: Status
    commit: CommitResult | None = None
    """None where nothing is committed."""
    notes: tuple[str, ...] = ()
    """What else the user should know: about the document, and about git."""

    @property
    def message(self) -> str:
        """The confirmation for the user."""
        lines = ["Session saved.", "", f'Conversation "{self.title}" has been {self.status}.']
        if self.status == "paused":
            lines.append("You can continue later with /workspace.resume")
        if self.summary:
            lines += ["", f"Summary: {' '.join(self.summary.split())}"]
        return "\n".join(lines)
