"""The way of a session: begun with the claim on its change, from story to story, ended with what was learned."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.dialects.ralph.openspec import Story, find_next
from segue.dialects.ralph.step_context import LASTING, PATIENCE_SECONDS
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


def begin(desk: StepContext, change: str, *, takeover: bool, lasting: bool = False) -> StartedSession:
    """A session for a change, and the claim on it. Done again with the same session, it goes on with it.

    A lasting one has a copy in the project, which survives what empties the temporary folder.
    """
    session_id, project = desk.session_id, desk.project_here
    stories = desk.spec_of(project, change).stories()
    claims = desk.claims(project)
    before = claims.find(change)
    if before is not None and before.session != session_id and not takeover and not claims.is_stale(before):
        raise ChangeLockedError(before)
    is_new = _create(desk, change, project, lasting=lasting)
    try:  # the file of the session is there before the claim: without it, the claim would be stale
        taken = claims.take(change, session_id, since=desk.clock(), takeover=takeover)
    except BaseException:
        if is_new:
            desk.store.delete(session_id)
            discard_backup(project, session_id)
        raise
    warnings = [] if taken is None else [_taken_over(taken, project, is_stale=claims.is_stale(taken))]
    if not stories:
        warnings.append("the change has no stories yet")
    return StartedSession(is_new=is_new, stories=stories, warnings=tuple(warnings))


def advance(desk: StepContext) -> Story | None:
    """The next story that is not complete, which the agent's commands are then about."""
    desk.check_claim()
    story = find_next(desk.spec.stories())
    overrides = {name: value for name, value in desk.overview.overrides.items() if name != "story"}
    if story is not None:
        overrides["story"] = story.id
    if overrides != desk.overview.overrides:
        desk.record(OverridesChanged(values=overrides, timestamp=desk.clock(), id=f"story-{os.urandom(8).hex()}"))
    return story


def end(desk: StepContext, *, keep: str | None = None) -> Overview:
    """Hand on what was learned, then end the session and its claim. A failure keeps both.

    What an agent records meanwhile is not lost: the file is removed only as it was read, else all is done again.
    """
    session_id = desk.session_id
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        revision = desk.store.revision(session_id)
        known = desk.store.overview(session_id)
        change, project = desk.change, desk.project
        if known.learnings or known.patterns:
            spec = desk.spec_of(project, change)
            if known.learnings:
                spec.write_learnings(known.learnings)
            if known.patterns:
                spec.write_patterns(known.patterns)
        if keep:
            _keep(desk, keep)
        try:
            desk.store.delete(session_id, revision=revision)
        except ConflictError:  # somebody writes it now, or has written it meanwhile
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
            continue
        desk.claims(project).release(change, session_id, now=desk.clock())
        discard_backup(project, session_id)
        return known


def _create(desk: StepContext, change: str, project: str, *, lasting: bool) -> bool:
    """Whether the session is new; ConflictError if it belongs to another change or project."""
    extra: JsonObject = {"change_name": change, "project": project}
    first = Metadata(
        session_id=desk.session_id,
        agent="ralph",
        title=change,
        created_at=desk.clock(),
        status="paused",  # between two commands nobody writes it, and nobody died: the claim says who works on it
        version=FORMAT_VERSION,
        id="metadata",
        extra=extra | {LASTING: True} if lasting else extra,
    )
    try:
        with desk.store.create(desk.session_id, [first]) as writer:
            if lasting:
                keep_backup(desk.store.folder, desk.project, writer.overview.id)
    except SessionExistsError:
        if desk.change != change:
            raise
        _ = desk.project  # an error, if the session belongs to another project
        return False
    return True


def _keep(desk: StepContext, url: str) -> None:
    from segue.registry import open_store
    from segue.store import Durability
    from segue.transfer.convert import convert

    convert(desk.store, desk.session_id, open_store(url, clock=desk.clock, durability=Durability.SYNCED))


def _taken_over(claim: Claim, project: str, *, is_stale: bool) -> str:
    who = f"session {claim.session}" if claim.session else "somebody who left no name"
    why = "its file is gone, as after a reboot" if is_stale else "on purpose"
    copy = find_backup(project, claim.session) if is_stale else ""
    return f"the change was taken over from {who}: {why}{f'; a copy is {copy}' if copy else ''}"
