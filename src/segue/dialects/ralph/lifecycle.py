"""The life of a session: it starts with the claim on its change, goes from story to story, and ends with a flush."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.dialects.ralph.openspec import Story, find_next
from segue.dialects.ralph.step_context import LASTING, WRITER_TIMEOUT_SECONDS
from segue.dialects.ralph.store.backups import discard_backup, find_backup, keep_backup
from segue.dialects.ralph.store.claims import ChangeLockedError
from segue.errors import ConflictError, SessionExistsError
from segue.model import Metadata, OverridesChanged, Overview
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from segue.dialects.ralph.step_context import StepContext
    from segue.dialects.ralph.store.claims import Claim
    from segue.model import JsonObject

_PAUSE_SECONDS = 0.01


class StartedSession(Struct, frozen=True, kw_only=True):
    is_new: bool
    stories: tuple[Story, ...]
    warnings: tuple[str, ...]


def start_session(step: StepContext, change: str, *, takeover: bool, lasting: bool = False) -> StartedSession:
    """Create a session for a change and claim the change; a second call with the same id resumes the session.

    A lasting session has a backup in the project, which survives when the temporary folder is emptied.
    """
    session_id, project = step.session_id, step.current_project
    stories = step.plan_of(project, change).stories()
    claims = step.claims(project)
    before = claims.find(change)
    if before is not None and before.session != session_id and not takeover and not claims.is_stale(before):
        raise ChangeLockedError(before)
    is_new = _create(step, change, project, lasting=lasting)
    try:  # the session's file is created before the claim: without it the claim would be stale
        taken = claims.take(change, session_id, since=step.clock(), takeover=takeover)
    except BaseException:
        if is_new:
            step.store.delete(session_id)
            discard_backup(project, session_id)
        raise
    warnings = [] if taken is None else [_takeover_warning(taken, project, is_stale=claims.is_stale(taken))]
    if not stories:
        warnings.append("the change has no stories yet")
    return StartedSession(is_new=is_new, stories=stories, warnings=tuple(warnings))


def select_next_story(step: StepContext) -> Story | None:
    """Make the next incomplete story the current one, to which the agent's commands then apply."""
    step.check_claim()
    story = find_next(step.plan.stories())
    overrides = {name: value for name, value in step.overview.overrides.items() if name != "story"}
    if story is not None:
        overrides["story"] = story.id
    if overrides != step.overview.overrides:
        step.record(OverridesChanged(values=overrides, timestamp=step.clock(), id=f"story-{os.urandom(8).hex()}"))
    return story


def end_session(step: StepContext, *, keep: str | None = None) -> Overview:
    """Write learnings and patterns to the plan, then remove the session and its claim. A failure keeps both.

    What an agent records meanwhile is not lost: the file is removed only if it is unchanged, else all is done again.
    """
    session_id = step.session_id
    deadline = time.monotonic() + WRITER_TIMEOUT_SECONDS
    while True:
        revision = step.store.revision(session_id)
        overview = step.store.overview(session_id)
        change, project = step.change, step.project
        if overview.learnings or overview.patterns:
            plan = step.plan_of(project, change)
            if overview.learnings:
                plan.write_learnings(overview.learnings)
            if overview.patterns:
                plan.write_patterns(overview.patterns)
        if keep:
            _keep(step, keep)
        try:
            step.store.delete(session_id, revision=revision)
        except ConflictError:  # another process writes it, or has written it
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
            continue
        step.claims(project).release(change, session_id, now=step.clock())
        discard_backup(project, session_id)
        return overview


def _create(step: StepContext, change: str, project: str, *, lasting: bool) -> bool:
    """Create the session; False if it exists. ConflictError if it belongs to another change or project."""
    extra: JsonObject = {"change_name": change, "project": project}
    first = Metadata(
        session_id=step.session_id,
        agent="ralph",
        title=change,
        created_at=step.clock(),
        status="paused",  # no process writes it between two commands; the claim names the owner
        version=FORMAT_VERSION,
        id="metadata",
        extra=extra | {LASTING: True} if lasting else extra,
    )
    try:
        with step.store.create(step.session_id, [first]) as writer:
            if lasting:
                keep_backup(step.store.folder, step.project, writer.overview.id)
    except SessionExistsError:
        if step.change != change:
            raise
        _ = step.project  # raises if the session belongs to another project
        return False
    return True


def _keep(step: StepContext, url: str) -> None:
    from segue.registry import open_store
    from segue.store import Durability
    from segue.transfer.convert import convert

    convert(step.store, step.session_id, open_store(url, clock=step.clock, durability=Durability.SYNCED))


def _takeover_warning(claim: Claim, project: str, *, is_stale: bool) -> str:
    who = f"session {claim.session}" if claim.session else "an unnamed session"
    why = "its file is gone, as after a reboot" if is_stale else "on purpose"
    backup = find_backup(project, claim.session) if is_stale else ""
    return f"the change was taken over from {who}: {why}{f'; a copy is {backup}' if backup else ''}"
