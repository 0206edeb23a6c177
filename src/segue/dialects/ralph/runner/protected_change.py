"""Protects a change from the agent that works on it: what an attempt destroys is restored when it ends.

An agent may delete the plan, clean the project, or tick tasks by hand. That costs the attempt, and not the run.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.dialects.ralph.openspec.saved_plan import SavedPlan
from segue.dialects.ralph.store.backups import keep_backup, restore_backup
from segue.durable.folder import Folder
from segue.errors import DamagedError, NotFoundError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.dialects.ralph.step_context import StepContext


class ProtectedChange:
    """The plan and the session of a change as they were before an attempt at one story."""

    def __init__(self, step: StepContext, story_id: str, *, restores_ticks: bool) -> None:
        self._story_id = story_id
        self._restores_ticks = restores_ticks
        self._change, self._project = step.change, step.project
        self._plan = step.plan
        self._saved = SavedPlan(step.plan)
        self._store = step.store
        self._file_name = f"{step.session_id}.json"
        self._session_file = step.store.folder.read(self._file_name)

    def restore(self, step: StepContext) -> list[str]:
        """Restore what is gone; what was done, for the user and the next attempt."""
        notes = [*self._restore_session(step), *self._restore_claim(step)]
        aside = Folder(self._project).sub(".ralph").sub("replaced")
        if restored := list(self._saved.restore(aside)):
            notes += restored
            self._tick_again(step)
        return [*notes, *self._open_others(step)]

    def _restore_session(self, step: StepContext) -> Iterator[str]:
        problem = self._find_session_problem(step)
        if not problem:
            return
        yield f"the session {problem}, and was restored"
        restore_backup(self._store.folder, self._project, step.session_id)
        if self._find_session_problem(step):
            self._store.folder.make()
            self._store.folder.create(self._file_name, self._session_file)
        keep_backup(self._store.folder, self._project, step.session_id)

    def _find_session_problem(self, step: StepContext) -> str:
        """What is wrong with the file of the session; a damaged one is renamed."""
        try:
            self._store.overview(step.session_id)
        except NotFoundError:
            return "was removed"
        except (DamagedError, StorageError):
            new = f"{self._file_name}.replaced-{os.urandom(4).hex()}"
            with suppress(FileNotFoundError):
                self._store.folder.rename(self._file_name, new)
            return f"was damaged (see {self._store.folder.path_of(new)})"
        return ""

    def _restore_claim(self, step: StepContext) -> Iterator[str]:
        """Take the claim back. During a run no command of this machine gives it to another session."""
        claims = step.claims(self._project)
        claim = claims.find(self._change)
        if claim is None or (claim.session != step.session_id and claim.host in {"", os.uname().nodename}):
            claims.take(self._change, step.session_id, since=step.clock(), takeover=True)
            what = "was removed" if claim is None else f"was given to session {claim.session or 'without a name'}"
            yield f"the claim on the change {what}, and was restored"

    def _tick_again(self, step: StepContext) -> None:
        """Tick what the agent had ticked before it destroyed the plan."""
        for done in step.overview.tasks_done if self._restores_ticks else ():
            if done.story_id == self._story_id:
                with suppress(NotFoundError):
                    self._plan.mark(self._story_id, done.task_id)

    def _open_others(self, step: StepContext) -> Iterator[str]:
        """Open the tasks of other stories again that were ticked without the commands: they do not count."""
        recorded = {(done.story_id, done.task_id) for done in step.overview.tasks_done}
        before = {(story.id, task.id) for story in self._saved.stories for task in story.tasks if not task.done}
        wrong = [
            (story.id, task.id)
            for story in self._plan.stories()
            for task in story.tasks
            if task.done and story.id != self._story_id and (story.id, task.id) in before - recorded
        ]
        for story_id, task_id in wrong:
            self._plan.mark(story_id, task_id, done=False)
        if wrong:
            names = ", ".join(f"{task_id} of story {story_id}" for story_id, task_id in wrong)
            yield f"tasks outside of story {self._story_id} were ticked by hand, and were opened again: {names}"
