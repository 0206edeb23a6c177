"""The loop: claim a change, send an agent to each of its stories until it is done, hand on what was learned.

Nothing is lost however it ends. What an agent records has a copy in the project when its command returns; the session
in the library says which tool was at work, so that the next call reads its transcript; the claim stays until the end,
and the same command goes on. A story is left behind only when it is verified: until then it stays the session's own.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.clock import utc_now
from segue.dialects.ralph.lifecycle import advance, begin, end
from segue.dialects.ralph.openspec import find_next, get_story, plan_of
from segue.dialects.ralph.runner.command import run_command
from segue.dialects.ralph.runner.commits import StoryCommits
from segue.dialects.ralph.runner.confined import Unconfined
from segue.dialects.ralph.runner.progress import (
    Notice,
    OutputReceived,
    RunStarted,
    StoryFailed,
    StoryFinished,
    StoryStarted,
    Verifying,
)
from segue.dialects.ralph.runner.prompt import assign, prompt_of
from segue.dialects.ralph.runner.recording import take_over_notes, take_over_turns
from segue.dialects.ralph.step_context import StepContext
from segue.dialects.ralph.store.backups import restore_backup
from segue.dialects.ralph.store.claims import ChangeLockedError
from segue.durable.lock import WriterLock
from segue.errors import ConflictError, NotFoundError
from segue.ids import is_id
from segue.integrations.shared.session_files import remove_file
from segue.transfer.linked_session import LinkedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from segue.dialects.ralph.openspec import Story
    from segue.dialects.ralph.runner.confined import Surroundings
    from segue.dialects.ralph.runner.progress import Progress
    from segue.dialects.ralph.runner.workers import Worker
    from segue.dialects.ralph.store.claims import Claim
    from segue.git import Repository
    from segue.library import Library
    from segue.session import LiveSession
    from segue.trust import Marks, Trust

_LEFT = "uncommitted"
"""The override that says what an agent changed and nobody committed."""
_TOLD_CHARACTERS = 4000
"""Of what a verification said, for the next attempt: its end, where the reasons are."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """What is to be done."""

    change: str
    verify: str = ""
    """A line for the shell; without one, ticked tasks are enough."""
    max_retries: int = 3
    max_stories: int | None = None
    takeover: bool = False


class RunResult(Enum):
    """How it came to an end. All but the first can be continued by the same call."""

    COMPLETE = "complete"
    ENOUGH = "enough"
    """As many stories as were asked for."""
    FAILED = "failed"
    STOPPED = "stopped"


class Orchestrator:
    def __init__(
        self,
        order: RunOptions,
        *,
        environ: Mapping[str, str],
        cwd: str,
        library: Library,
        worker: Worker,
        command: str,
        should_stop: Callable[[], bool],
        repository: Repository | None = None,
        trust: Trust | None = None,
        confine: Callable[[str], Surroundings] = lambda _: Unconfined(),
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._order = order
        self._environ = environ
        self._cwd = cwd
        self._library = library
        self._worker = worker
        self._command = command
        self._notify: Callable[[Progress], None] = lambda _: None
        self._should_stop = should_stop
        self._trust = trust
        self._clock = clock
        self.project = self._desk("").project_here
        self._claims = self._desk("").claims(self.project)
        self._surroundings = confine(self.project)
        self._commits = (
            None
            if repository is None
            else StoryCommits(repository, project=self.project, plan=plan_of(self.project, order.change))
        )

    def stories(self) -> tuple[Story, ...]:
        """As they are now."""
        return self._desk("").spec_of(self.project, self._order.change).stories()

    def next_prompt(self) -> str:
        """What an agent would be told now; empty when all is done. Changes nothing."""
        spec = self._desk("").spec_of(self.project, self._order.change)
        story = find_next(spec.stories())
        if story is None:
            return ""
        return prompt_of(assign(spec, story, session_id="ID", command=self._command, verify=self._order.verify))

    def run(self, notify: Callable[[Progress], None]) -> RunResult:
        """Work until the change is complete, or something speaks against it. SegueError where it cannot even begin."""
        self._notify = notify
        self.stories()  # an error, if there is no such change
        with self._session() as session, self._alone(session) as lock:
            if self._commits is not None and (words := self._commits.begin(session.overview.overrides.get(_LEFT))):
                self._notify(Notice(words=words))
            try:
                how = self._work(session, lock)
            finally:
                take_over_notes(session, self._desk(session.id).overview)
                if self._commits is not None:
                    session.set_overrides({**session.overview.overrides, _LEFT: self._commits.left()})
            if how is RunResult.COMPLETE:
                end(self._desk(session.id))
                session.complete()
                if words := self._commit("what was learned"):
                    self._notify(Notice(words=words))
            return how

    @contextmanager
    def _session(self) -> Iterator[LiveSession]:
        """The session of the library, and that of the change with the same id: an earlier one of ours, or new ones."""
        change, takeover = self._order.change, self._order.takeover
        claim = self._claims.find(change)
        if claim is not None and self._is_ours(claim):
            session = self._library.resume(claim.session, force=True, timeout_seconds=0.0)
            is_new = False
            restore_backup(self._desk(session.id).store.folder, self.project, session.id)
        else:
            if claim is not None and not takeover and not self._claims.is_stale(claim):
                raise ChangeLockedError(claim)
            session_id = self._library.store.new_id(change, self._clock(), os.urandom(16))
            extra: dict[str, object] = {"change_name": change, "project": self.project}
            session = self._library.create(
                id=session_id, agent=self._worker.name, title=f"Change {change}", extra=extra
            )
            is_new = True
        with session:
            try:
                begun = begin(self._desk(session.id), change, takeover=takeover, lasting=True)
            except BaseException:
                if is_new:
                    session.release()
                    self._library.delete(session.id)
                raise
            self._notify(
                RunStarted(session_id=session.id, is_new=is_new, project=self.project, agent=self._worker.name)
            )
            for warning in begun.warnings:
                self._notify(Notice(words=warning))
            if not is_new:
                self._take_over_turns(session)
            yield session

    def _is_ours(self, claim: Claim) -> bool:
        """Whether it is of an orchestrator that keeps its sessions where this one does."""
        if claim.host != os.uname().nodename or not is_id(claim.session):
            return False
        try:
            self._library.store.revision(claim.session)
        except NotFoundError:
            return False
        return True

    @contextmanager
    def _alone(self, session: LiveSession) -> Iterator[WriterLock]:
        """Agents inherit this lock: one that outlived its orchestrator still has it."""
        name = f"{self._order.change}.agent"
        lock = WriterLock.acquire(self._claims.locks, name, timeout_seconds=0.0, since=self._clock())
        if not isinstance(lock, WriterLock):
            agent = session.overview.overrides.get("tool") or "an agent"
            raise ConflictError(
                f"{agent} of an earlier run still works on change {self._order.change}",
                hint="wait until it ends, or end it; then the same command goes on",
            )
        try:
            yield lock
        finally:
            lock.release()

    def _work(self, session: LiveSession, lock: WriterLock) -> RunResult:
        story, count = self._unfinished(session.id), 0
        while True:
            story = story or advance(self._desk(session.id))
            if story is None:
                return RunResult.COMPLETE
            if count == self._order.max_stories:
                return RunResult.ENOUGH
            is_done = self._do(session, story.id, lock)
            if self._should_stop():
                return RunResult.STOPPED
            if not is_done:
                return RunResult.FAILED
            story, count = None, count + 1

    def _unfinished(self, session_id: str) -> Story | None:
        """The story that an earlier call has left, ticked or not: nobody has verified it."""
        desk = self._desk(session_id)
        return next((story for story in desk.spec.stories() if story.id == desk.story_id), None)

    def _do(self, session: LiveSession, story_id: str, lock: WriterLock) -> bool:
        """Whether the story is done, in as many attempts as there are."""
        failure, attempts = "", self._order.max_retries + 1
        for attempt in range(1, attempts + 1):
            desk = self._desk(session.id)
            desk.check_claim()
            story = get_story(desk.spec.stories(), story_id)
            how = ""
            if attempt > 1 or not story.complete:
                self._notify(StoryStarted(story=story, attempt=attempt, attempts=attempts))
                how = self._send(session, story, failure, lock)
            failure = self._find_failure(session.id, story_id, how)
            if self._should_stop():
                return False
            story = get_story(desk.spec.stories(), story_id)
            if not failure:
                self._notify(StoryFinished(story=story, commit=self._commit(story.title or f"story {story.id}")))
                return True
            self._notify(StoryFailed(story=story, reason=failure, is_last=attempt == attempts))
        return False

    def _send(self, session: LiveSession, story: Story, failure: str, lock: WriterLock) -> str:
        """Let the agent work; how it ended, if not well."""
        desk = self._desk(session.id)
        known = desk.overview
        prompt = prompt_of(
            assign(
                desk.spec,
                story,
                session_id=session.id,
                command=self._command,
                verify=self._order.verify,
                learnings=known.learnings,
                patterns=known.patterns,
                failure=failure,
            )
        )
        environ = {**self._environ, **self._told(session.id, story.id)}
        title = f"{self._order.change} {story.id}: {story.title}"
        errand = self._worker.prepare(prompt, title=title, cwd=self.project, environ=environ)
        doing = {"tool": self._worker.name, "tool_session": errand.native_id, "story": story.id}
        session.set_overrides(doing if self._commits is None else {**doing, _LEFT: self._commits.left()})
        LinkedSession(self._worker.name, errand.native_id).vouch(self._marks_of(session))
        session.add("user", prompt)
        try:
            with self._surroundings.start(errand.argv, tool=errand.tool) as start:
                ended = run_command(
                    start.argv,
                    cwd=self.project,
                    environ={**environ, **errand.environ, **start.environ},
                    stdin=errand.stdin,
                    on_output=lambda text: self._notify(OutputReceived(text=text)),
                    should_stop=self._should_stop,
                    pass_fds=(lock.fileno(), *start.descriptors),
                )
        finally:
            for path in errand.passing:
                remove_file(path)
        if not self._take_over_turns(session) and ended.output.strip():
            session.add("assistant", ended.output.strip(), partial=ended.code is None)
        take_over_notes(session, self._desk(session.id).overview)
        return f"{self._worker.name} {ended.failure}" if ended.failure else ""

    def _find_failure(self, session_id: str, story_id: str, how: str) -> str:
        """Why the story is not done; empty if it is."""
        if self._should_stop():
            return "it was stopped"
        reasons: list[str] = []
        if self._order.verify:
            self._notify(Verifying(command=self._order.verify))
            with self._surroundings.start(["/bin/sh", "-c", self._order.verify]) as start:
                ended = run_command(
                    start.argv,
                    cwd=self.project,
                    environ={**self._environ, **self._told(session_id, story_id), **start.environ},
                    on_output=lambda text: self._notify(OutputReceived(text=text)),
                    should_stop=self._should_stop,
                    pass_fds=start.descriptors,
                )
            if ended.failure:
                said = ended.output[-_TOLD_CHARACTERS:].strip()
                reasons.append(f"`{self._order.verify}` {ended.failure}" + (f", and said:\n\n{said}" if said else ""))
        left = [task for task in get_story(self.stories(), story_id).tasks if not task.done]
        if left:
            reasons.append("These tasks are not ticked: " + ", ".join(task.id for task in left))
        return "\n\n".join([*reasons, *([how] if how else [])]) if reasons else ""

    def _commit(self, what: str) -> str:
        """What became of it, in words; nothing if there was nothing to do."""
        return "" if self._commits is None else self._commits.commit(f"{self._order.change}: {what}")

    def _take_over_turns(self, session: LiveSession) -> bool:
        marks = self._marks_of(session)
        return take_over_turns(session, project=self.project, environ=self._environ, notify=self._notify, marks=marks)

    def _marks_of(self, session: LiveSession) -> Marks | None:
        return self._trust.of(session.store.url, session.id) if self._trust is not None else None

    def _told(self, session_id: str, story_id: str) -> dict[str, str]:
        return {"RALPH_SESSION": session_id, "RALPH_STORY": story_id, "RALPHTOOL": self._command}

    def _desk(self, session_id: str) -> StepContext:
        environ = {name: value for name, value in self._environ.items() if name == "TMPDIR"}
        return StepContext(environ=environ, cwd=self._cwd, session=session_id, clock=self._clock)
