"""The session in which an AI tool goes on with one of ours: read only where this user handed it over, or agreed.

Otherwise whoever made a session could name any other conversation that the user had with the tool, and have it copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.model import Overview
    from segue.trust import Marks

_PART = "tool"


class Link(NamedTuple):
    tool: str
    native_id: str

    def is_ours(self, marks: Marks | None) -> bool:
        """Whether it was made here; without marks, every one was."""
        return marks is None or marks.has(_PART, [*self], where=self.tool)

    def vouch(self, marks: Marks | None) -> None:
        if marks is not None and self.native_id:
            marks.put(_PART, [*self], where=self.tool)

    def is_agreed(self, marks: Marks | None, confirm: Callable[[str], bool]) -> bool:
        """Whether it may be followed: it is ours, or a person says so now, and that is remembered."""
        if self.is_ours(marks):
            return True
        what = one_line(f"session {self.native_id} of {self.tool}")
        if not confirm(f"This session says that it went on in {what}. Copy what was said there?"):
            return False
        self.vouch(marks)
        return True


def link_of(about: Overview, tool: str = "") -> Link | None:
    """Where the conversation was handed to last, or else to this tool."""
    known = about.overrides
    last = known.get("tool")
    others = known.get("tool_sessions")
    if not tool or tool == last:
        tool, native_id = last if isinstance(last, str) else "", known.get("tool_session")
    else:
        native_id = others.get(tool) if isinstance(others, dict) else None
    return Link(tool, native_id) if tool and isinstance(native_id, str) and native_id else None
