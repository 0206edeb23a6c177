"""What an orchestrator does: `ralphtool agent session …`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.json_output import (
    claim_of,
    learnings_of,
    patterns_of,
    progress_of,
    session_of,
    story_json,
    tasks_of,
)
from segue.dialects.ralph.lifecycle import advance, begin, end
from segue.errors import SegueError

if TYPE_CHECKING:
    from segue.dialects.ralph.step_context import StepContext
    from segue.model import JsonObject


def init(desk: StepContext, change: str, *, takeover: bool) -> JsonObject:
    begun = begin(desk, change, takeover=takeover)
    return {
        **session_of(desk.overview),
        "session_file": f"{desk.store.folder.path}/{desk.session_id}.json",
        "resumed": not begun.is_new,
        **progress_of(begun.stories),
        "warnings": list(begun.warnings),
    }


def next_story(desk: StepContext) -> JsonObject:
    story = advance(desk)
    if story is None:
        return {"complete": True}
    return {"complete": False, "story_id": story.id, "story": story_json(story)}


def flush(desk: StepContext, *, keep: str | None) -> JsonObject:
    known = end(desk, keep=keep)
    return {
        "session_id": known.id,
        "change_name": session_of(known)["change_name"],
        "learnings": len(known.learnings),
        "patterns": len(known.patterns),
        "kept": keep,
    }


def status(desk: StepContext) -> JsonObject:
    known = desk.overview
    claim = desk.claims(desk.project).find(desk.change)
    return {
        **session_of(known),
        "learnings": learnings_of(known),
        "patterns": patterns_of(known),
        "completed_tasks": tasks_of(known),
        "claim": None if claim is None else claim_of(claim),
        **progress_of(desk.spec.stories()),
    }


def list_sessions(desk: StepContext) -> JsonObject:
    """Every session of this machine, and every claim in this project."""
    sessions: list[JsonObject] = []
    for head in sorted(desk.store.heads(), key=lambda head: (head.created_at, head.id)):
        try:
            known = session_of(desk.store.overview(head.id))
        except SegueError as error:
            known = {"session_id": head.id, "damage": str(error)}
        sessions.append(known)
    claims = desk.claims(desk.project_here)
    return {
        "sessions": sessions,
        "claims": [{**claim_of(claim), "stale": claims.is_stale(claim)} for claim in claims.list()],
    }


def release(desk: StepContext, change: str | None) -> JsonObject:
    """End a claim without flushing; the session stays, and can be taken up again by init."""
    project = desk.project_here if change else desk.project
    change = change or desk.change
    claims = desk.claims(project)
    claim = claims.find(change)
    if claim is None:
        return {"change_name": change, "released": False, "claim": None}
    released = claims.release(change, claim.session, now=desk.clock())
    return {"change_name": change, "released": released, "claim": claim_of(claim)}
