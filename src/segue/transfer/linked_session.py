"""The session of an AI tool that continues one of ours: read only if this user handed it over, or agreed.

Without that check, the author of a session could name any other conversation that the user had with the tool, and have
it copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.model import Overview
    from segue.trust import Marks

_MARK = "tool"


class LinkedSession(NamedTuple):
    tool: str
    native_id: str

    def is_ours(self, marks: Marks | None) -> bool:
        """Whether this user handed the session over; without marks, always."""
        return marks is None or marks.has(_MARK, [*self], where=self.tool)

    def vouch(self, marks: Marks | None) -> None:
        """Record that this user handed the session over, or agreed to read it."""
        if marks is not None and self.native_id:
            marks.put(_MARK, [*self], where=self.tool)

    def record(self, marks: Marks | None, created_at: datetime) -> None:
        """Vouch for it, and record that all of it is the conversation of our session, created then."""
        self.vouch(marks)
        if marks is not None and self.native_id and not marks.is_import_of(*self, created_at):
            marks.link(self.tool, self.native_id, created_at, "handover")

    def is_agreed(self, marks: Marks | None, confirm: Callable[[str], bool]) -> bool:
        """Whether it may be read: it is ours, or the user agrees now, which is recorded."""
        if self.is_ours(marks):
            return True
        session = one_line(f"session {self.native_id} of {self.tool}")
        if not confirm(f"This session claims to continue in {session}. Copy the turns from there?"):
            return False
        self.vouch(marks)
        return True


def find_linked_session(overview: Overview, tool: str = "") -> LinkedSession | None:
    """The session of the tool to which the conversation was handed over last, or of this tool."""
    known = overview.overrides
    last = known.get("tool")
    others = known.get("tool_sessions")
    if not tool or tool == last:
        tool, native_id = last if isinstance(last, str) else "", known.get("tool_session")
    else:
        native_id = others.get(tool) if isinstance(others, dict) else None
    return LinkedSession(tool, native_id) if tool and isinstance(native_id, str) and native_id else None
