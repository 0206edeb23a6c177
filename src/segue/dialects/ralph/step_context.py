"""What every step works with: the session, its change, and the claim on it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.dialects.ralph.store import RalphStore
from segue.errors import ConflictError, UsageError
from segue.ids import check_id, is_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from segue.dialects.ralph.openspec import Plan, Story
    from segue.dialects.ralph.store.claims import Claims
    from segue.model import Event, Overview

PATIENCE_SECONDS = 60.0
"""How long a command waits for others that write the same session: each of them takes milliseconds."""
LASTING = "lasting"
"""The extra field of a session whose file has a copy in the project."""
_SIGNS = ("openspec", ".ralph", ".git")
_FOLDER = "/ralph/sessions"
"""Of the sessions, in the temporary folder."""


class NeedsError(UsageError):
    """Something that a step cannot do without."""

    def __init__(self, code: str, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.code = code


class SessionElsewhereError(ConflictError):
    """The session belongs to the plan of another project."""

    def __init__(self, session_id: str, change: str, project: str, here: str) -> None:
        super().__init__(
            f"session {session_id} works on change {change} in {project}, and {here} has a change of that name too",
            hint=f"go to {project}, or begin a session of its own here: another RALPH_SESSION, then session init",
        )


class StepContext:
    """One step. Whoever takes several sits down anew for each, since others work on the same session."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        cwd: str,
        session: str | None = None,
        story: str | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.clock = clock
        self._usual_folder = f"{environ.get('TMPDIR') or '/tmp'}{_FOLDER}"  # noqa: S108 - as specified; the store refuses what is not ours
        self._session = session or environ.get("RALPH_SESSION", "")
        self._story = story or environ.get("RALPH_STORY", "")
        self._cwd = cwd

    @property
    def session_id(self) -> str:
        if not self._session:
            raise NeedsError(
                "SESSION_REQUIRED",
                "RALPH_SESSION is not set: every agent command belongs to a session",
                hint="let an orchestrator manage sessions: it sets RALPH_SESSION and calls "
                "'ralphtool agent session init --change NAME'; or name the session with --session ID",
            )
        return check_id(self._session)

    @cached_property
    def store(self) -> RalphStore:
        return RalphStore(self._folder_of_session(), clock=self.clock)

    def _folder_of_session(self) -> str:
        """The usual folder, or the one that the claim of this session names: tools set TMPDIR for their shells.

        Claims travel with a project. So no other kind of folder counts, and none inside of the project; that it
        belongs to this user alone is for the store to check.
        """
        usual, name = self._usual_folder, f"{self._session}.json"
        if not is_id(self._session) or os.path.lexists(f"{usual}/{name}"):
            return usual
        for folder in self.claims(self.project_here, sessions=usual).folders_of(self._session):
            is_inside = f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(self.project_here)}/")
            if folder.endswith(_FOLDER) and not is_inside and os.path.lexists(f"{folder}/{name}"):
                return folder
        return usual

    @cached_property
    def overview(self) -> Overview:
        """The session as it was when the step began."""
        return self.store.overview(self.session_id)

    @property
    def change(self) -> str:
        return str(self.overview.extra.get("change_name", ""))

    @cached_property
    def project(self) -> str:
        """Where the session was begun, wherever the agent is now; where it is now, if that folder has moved.

        SessionElsewhereError in another project, such as a second worktree, that has a change of the same name: the
        plan that is ticked must be the one that the agent sees.
        """
        known, here = self.overview.extra.get("project"), self.project_here
        if not isinstance(known, str) or not known.startswith("/") or known == here:
            return here
        if os.path.realpath(known) == os.path.realpath(here) or not self._has_change(here):
            return known
        if not os.path.isdir(known):  # noqa: PTH112 - a text, as the rooms below take it
            return here
        raise SessionElsewhereError(self.session_id, self.change, known, here)

    def _has_change(self, project: str) -> bool:
        from segue.dialects.ralph.openspec import ChangeNotFoundError

        try:
            self.spec_of(project, self.change)
        except (ChangeNotFoundError, UsageError):  # a session that came from elsewhere has no change
            return False
        return True

    @cached_property
    def project_here(self) -> str:
        folder = self._cwd
        while True:
            if any(os.path.lexists(f"{folder}/{sign}") for sign in _SIGNS):
                return folder
            above = os.path.dirname(folder)  # noqa: PTH120 - a text, as the rooms below take it
            if above == folder:
                return self._cwd
            folder = above

    def claims(self, project: str, *, sessions: str = "") -> Claims:
        from segue.dialects.ralph.store.claims import Claims

        return Claims(project, sessions=sessions or self.store.folder.path)

    def spec_of(self, project: str, change: str) -> Plan:
        from segue.dialects.ralph.openspec import open_spec

        return open_spec(project, change, locks=self.claims(project).locks, clock=self.clock)

    @cached_property
    def spec(self) -> Plan:
        return self.spec_of(self.project, self.change)

    def check_claim(self) -> None:
        """ChangeLockedError if another session has taken the change over."""
        from segue.dialects.ralph.store.claims import ChangeLockedError

        claim = self.claims(self.project).find(self.change)
        if claim is not None and claim.session != self.session_id:
            raise ChangeLockedError(claim)

    @property
    def story_id(self) -> str | None:
        """The one the agent works on, by name or as next-story set it."""
        current = self._story or self.overview.overrides.get("story")
        return current if isinstance(current, str) else None

    def story_in(self, stories: Sequence[Story]) -> Story:
        from segue.dialects.ralph.openspec import get_story

        if not self.story_id:
            raise NeedsError(
                "STORY_REQUIRED",
                "no story is set in this session",
                hint="the orchestrator calls 'ralphtool agent session next-story' first; "
                "or name the story with RALPH_STORY or --story ID",
            )
        return get_story(stories, self.story_id)

    def record(self, *events: Event) -> Overview:
        """Durably; what comes of it. Many processes may do this to one session at once."""
        with self.store.open(self.session_id, timeout_seconds=PATIENCE_SECONDS) as writer:
            writer.append(*events)
            if writer.overview.extra.get(LASTING):
                from segue.dialects.ralph.store.backups import keep_backup

                keep_backup(self.store.folder, self.project, writer.overview.id)
            return writer.overview
