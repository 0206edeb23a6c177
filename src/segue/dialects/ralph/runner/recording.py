"""Copies what an agent said, learned and did into the session of the library: each event once, by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.dialects.ralph.runner.progress import Notice
from segue.dialects.ralph.runner.workers import read_back
from segue.errors import SegueError
from segue.transfer.linked_session import find_linked_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from segue.dialects.ralph.runner.progress import Progress
    from segue.model import Event, Overview
    from segue.session import LiveSession
    from segue.trust import Marks


def import_turns(
    session: LiveSession,
    *,
    project: str,
    environ: Mapping[str, str],
    notify: Callable[[Progress], None],
    marks: Marks | None = None,
) -> bool:
    """Record the turns that the tool's transcript has and the session lacks; whether the tool answered.

    Only for a tool session that an orchestrator of this user started.
    """
    link = find_linked_session(session.overview)
    if link is None or not link.is_ours(marks):
        return False
    tool, native_id = link
    found = read_back(tool, native_id, cwd=project, environ=environ)
    if found is None:
        return False
    if isinstance(found, SegueError):
        notify(Notice(text=f"the transcript of {tool} cannot be read: {found}"))
        return False
    for damage in found.damages:
        notify(Notice(text=f"part of the transcript of {tool} cannot be read: {damage}"))
    new = [replace(turn, branch=session.branch) for turn in found.after({turn.id for turn in session.turns})]
    if new and new[0].role == "user":  # the prompt, which was recorded before it was sent
        del new[0]
    if new:
        session.record(*new)
    return any(turn.role == "assistant" for turn in new)


def copy_notes(session: LiveSession, overview: Overview) -> None:
    """Record the learnings, patterns and completed tasks of the change's session."""
    notes: list[Event] = [*overview.learnings, *overview.patterns, *overview.tasks_done]
    if notes:
        session.record(*notes)
