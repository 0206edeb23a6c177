"""The context of one step: the session, its change, and the claim on the change."""

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
    from segue.store import Owner

WRITER_TIMEOUT_SECONDS = 60.0
"""How long a command waits for other writers of the session: each of them takes milliseconds."""
LASTING = "lasting"
"""The extra field of a session that has a backup in the project."""
_PROJECT_MARKERS = ("openspec", ".ralph", ".git")
_FOLDER = "/ralph/sessions"
"""The folder of the sessions, inside the temporary folder."""


def agent_lock_name(change: str) -> str:
    """The lock that an orchestrator and its agent hold while they work on a change."""
    return f"{change}.agent"


class StepError(UsageError):
    """A step lacks something that it needs; `code` is the error code in the JSON."""

    def __init__(self, code: str, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.code = code


class RunInProgressError(ConflictError):
    """An agent of `ralphtool run` works on this change, and only the run itself manages its session."""

    def __init__(self, change: str, owner: Owner) -> None:
        where = f" (process {owner.pid})" if owner.pid is not None else ""
        super().__init__(
            f"ralphtool run is working on change {change}{where}, and manages the session itself",
            hint="an agent only ticks tasks and records what it learned; to end the run, press Ctrl-C in its terminal",
        )


class SessionElsewhereError(ConflictError):
    """The session belongs to the plan of another project."""

    def __init__(self, session_id: str, change: str, project: str, here: str) -> None:
        super().__init__(
            f"session {session_id} belongs to change {change} in {project}, and {here} has a change of that name too",
            hint=f"change to {project}, or start another session here: set another RALPH_SESSION, then session init",
        )


class StepContext:
    """One step. Each step needs a new context, since other processes work on the same session."""

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
        self._default_folder = f"{environ.get('TMPDIR') or '/tmp'}{_FOLDER}"  # noqa: S108 - as specified; the store refuses what is not ours
        self._session = session or environ.get("RALPH_SESSION", "")
        self._story = story or environ.get("RALPH_STORY", "")
        self._cwd = cwd

    @property
    def session_id(self) -> str:
        if not self._session:
            raise StepError(
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
        """The default folder, or the one that the claim of this session names: AI tools set TMPDIR for their shells.

        Claims travel with a project. So no other kind of folder is accepted, and none inside the project. The store
        checks that it belongs to this user alone.
        """
        default, name = self._default_folder, f"{self._session}.json"
        if not is_id(self._session) or os.path.lexists(f"{default}/{name}"):
            return default
        for folder in self.claims(self.current_project, sessions=default).folders_of(self._session):
            is_inside = f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(self.current_project)}/")
            if folder.endswith(_FOLDER) and not is_inside and os.path.lexists(f"{folder}/{name}"):
                return folder
        return default

    @cached_property
    def overview(self) -> Overview:
        """The session as of the start of the step."""
        return self.store.overview(self.session_id)

    @property
    def change(self) -> str:
        return str(self.overview.extra.get("change_name", ""))

    @cached_property
    def project(self) -> str:
        """The project in which the session started; the current one if that folder has moved.

        SessionElsewhereError in another project, such as a second worktree, that has a change of the same name: the
        plan that is ticked must be the one that the agent sees.
        """
        recorded, here = self.overview.extra.get("project"), self.current_project
        if not isinstance(recorded, str) or not recorded.startswith("/") or recorded == here:
            return here
        if os.path.realpath(recorded) == os.path.realpath(here) or not self._has_change(here):
            return recorded
        if not os.path.isdir(recorded):  # noqa: PTH112 - a text, as everything below takes it
            return here
        raise SessionElsewhereError(self.session_id, self.change, recorded, here)

    def _has_change(self, project: str) -> bool:
        from segue.dialects.ralph.openspec import ChangeNotFoundError

        try:
            self.plan_of(project, self.change)
        except (ChangeNotFoundError, UsageError):  # an imported session has no change
            return False
        return True

    @cached_property
    def current_project(self) -> str:
        folder = self._cwd
        while True:
            if any(os.path.lexists(f"{folder}/{name}") for name in _PROJECT_MARKERS):
                return folder
            parent = os.path.dirname(folder)  # noqa: PTH120 - a text, as everything below takes it
            if parent == folder:
                return self._cwd
            folder = parent

    def claims(self, project: str, *, sessions: str = "") -> Claims:
        from segue.dialects.ralph.store.claims import Claims

        return Claims(project, sessions=sessions or self.store.folder.path)

    def plan_of(self, project: str, change: str) -> Plan:
        from segue.dialects.ralph.openspec import open_plan

        return open_plan(project, change, locks=self.claims(project).locks, clock=self.clock)

    @cached_property
    def plan(self) -> Plan:
        return self.plan_of(self.project, self.change)

    def check_claim(self) -> None:
        """Raise ChangeLockedError if another session has taken the change over."""
        from segue.dialects.ralph.store.claims import ChangeLockedError

        claim = self.claims(self.project).find(self.change)
        if claim is not None and claim.session != self.session_id:
            raise ChangeLockedError(claim)

    def refuse_during_run(self, project: str, change: str) -> None:
        """Raise RunInProgressError if an agent of `ralphtool run` works on this change now."""
        if (owner := self._find_run(project, change)) is not None:
            raise RunInProgressError(change, owner)

    def _find_run(self, project: str, change: str) -> Owner | None:
        from segue.durable.lock import find_owner

        return find_owner(self.claims(project).locks, agent_lock_name(change))

    @property
    def story_id(self) -> str | None:
        """The story that the agent works on: as given, else as next-story set it."""
        current = self._story or self.overview.overrides.get("story")
        return current if isinstance(current, str) else None

    def require_story(self, stories: Sequence[Story]) -> Story:
        from segue.dialects.ralph.openspec import get_story

        if not self.story_id:
            raise StepError(
                "STORY_REQUIRED",
                "this session has no current story",
                hint="the orchestrator calls 'ralphtool agent session next-story' first; "
                "or name the story with RALPH_STORY or --story ID",
            )
        current = self.overview.overrides.get("story")
        if self._story and self._story != current and self._find_run(self.project, self.change) is not None:
            raise StepError(
                "TASK_OUTSIDE_STORY",
                f"ralphtool run is working on story {current}, and not on story {self._story}",
                hint="finish this story first; the run selects the next one",
            )
        return get_story(stories, self.story_id)

    def record(self, *events: Event) -> Overview:
        """Record events durably; the session afterwards. Many processes may do this at the same time."""
        with self.store.open(self.session_id, timeout_seconds=WRITER_TIMEOUT_SECONDS) as writer:
            writer.append(*events)
            if writer.overview.extra.get(LASTING):
                from segue.dialects.ralph.store.backups import keep_backup

                keep_backup(self.store.folder, self.project, writer.overview.id)
            return writer.overview
