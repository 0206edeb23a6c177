"""The commands of an orchestrator: `ralphtool agent session …`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.json_output import (
    claim_json,
    completed_task_ids,
    learnings_json,
    patterns_json,
    progress_json,
    session_json,
    story_json,
)
from segue.dialects.ralph.lifecycle import end_session, select_next_story, start_session
from segue.errors import SegueError

if TYPE_CHECKING:
    from segue.dialects.ralph.step_context import StepContext
    from segue.model import JsonObject


def init(step: StepContext, change: str, *, takeover: bool) -> JsonObject:
    if takeover:
        step.refuse_during_run(step.current_project, change)
    started = start_session(step, change, takeover=takeover)
    return {
        **session_json(step.overview),
        "session_file": f"{step.store.folder.path}/{step.session_id}.json",
        "resumed": not started.is_new,
        **progress_json(started.stories),
        "warnings": list(started.warnings),
    }


def next_story(step: StepContext) -> JsonObject:
    step.refuse_during_run(step.project, step.change)
    story = select_next_story(step)
    if story is None:
        return {"complete": True}
    return {"complete": False, "story_id": story.id, "story": story_json(story)}


def flush(step: StepContext, *, keep: str | None) -> JsonObject:
    step.refuse_during_run(step.project, step.change)
    overview = end_session(step, keep=keep)
    return {
        "session_id": overview.id,
        "change_name": session_json(overview)["change_name"],
        "learnings": len(overview.learnings),
        "patterns": len(overview.patterns),
        "kept": keep,
    }


def status(step: StepContext) -> JsonObject:
    overview = step.overview
    claim = step.claims(step.project).find(step.change)
    return {
        **session_json(overview),
        "learnings": learnings_json(overview),
        "patterns": patterns_json(overview),
        "completed_tasks": completed_task_ids(overview),
        "claim": None if claim is None else claim_json(claim),
        **progress_json(step.plan.stories()),
    }


def list_sessions(step: StepContext) -> JsonObject:
    """All sessions of this machine, and all claims in this project."""
    sessions: list[JsonObject] = []
    for head in sorted(step.store.heads(), key=lambda head: (head.created_at, head.id)):
        try:
            found = session_json(step.store.overview(head.id))
        except SegueError as error:
            found = {"session_id": head.id, "damage": str(error)}
        sessions.append(found)
    claims = step.claims(step.current_project)
    return {
        "sessions": sessions,
        "claims": [{**claim_json(claim), "stale": claims.is_stale(claim)} for claim in claims.list()],
    }


def release(step: StepContext, change: str | None) -> JsonObject:
    """End a claim without flushing; the session stays, and init can resume it."""
    project = step.current_project if change else step.project
    change = change or step.change
    step.refuse_during_run(project, change)
    claims = step.claims(project)
    claim = claims.find(change)
    if claim is None:
        return {"change_name": change, "released": False, "claim": None}
    released = claims.release(change, claim.session, now=step.clock())
    return {"change_name": change, "released": released, "claim": claim_json(claim)}
