"""The loop: it claims a change, runs an agent on each story until the story is done, then flushes what was learned.

Nothing is lost however it ends. What an agent records has a backup in the project when its command returns. The session
in the library names the tool that was running, so that the next call reads its transcript. The claim stays until the
end, so the same command resumes. A story stays the current one until it is verified.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.dialects.ralph.lifecycle import end_session, select_next_story, start_session
from segue.dialects.ralph.openspec import find_next, get_story, plan_paths
from segue.dialects.ralph.runner.command import run_command
from segue.dialects.ralph.runner.commits import StoryCommits
from segue.dialects.ralph.runner.progress import (
    Notice,
    OutputReceived,
    RunStarted,
    StoryFailed,
    StoryFinished,
    StoryStarted,
    Verifying,
)
from segue.dialects.ralph.runner.prompt import assign, render_prompt
from segue.dialects.ralph.runner.protected_change import ProtectedChange
from segue.dialects.ralph.runner.recording import copy_notes, import_turns
from segue.dialects.ralph.runner.run_options import RunResult
from segue.dialects.ralph.runner.sandbox import NoSandbox
from segue.dialects.ralph.step_context import StepContext, agent_lock_name
from segue.dialects.ralph.store.backups import restore_backup
from segue.dialects.ralph.store.claims import ChangeLockedError
from segue.durable.lock import WriterLock, find_owner
from segue.errors import ConflictError, NotFoundError
from segue.ids import is_id
from segue.integrations.shared.session_files import remove_file
from segue.transfer.linked_session import LinkedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from segue.dialects.ralph.openspec import Story
    from segue.dialects.ralph.runner.progress import Progress
    from segue.dialects.ralph.runner.run_options import RunOptions
    from segue.dialects.ralph.runner.sandbox import Sandbox
    from segue.dialects.ralph.runner.workers import Worker
    from segue.dialects.ralph.store.claims import Claim
    from segue.git import Repository
    from segue.library import Library
    from segue.session import LiveSession
    from segue.trust import Marks, Trust

_UNCOMMITTED = "uncommitted"
"""The override with the files that an agent changed and that are not committed yet."""
_QUOTED_CHARACTERS = 4000
"""How much of the end of a verification's output, where the reasons are, the next attempt gets."""


class _Attempt:
    """One attempt at a story."""

    def __init__(self, story: Story, protected: ProtectedChange) -> None:
        self.story = story
        self.protected = protected
        self.ending = ""
        """How its agent failed; empty if it did not."""
        self.restored: list[str] = []
        """What had to be restored, for the next attempt."""


class Orchestrator:
    def __init__(
        self,
        options: RunOptions,
        *,
        environ: Mapping[str, str],
        cwd: str,
        library: Library,
        worker: Worker,
        command: str,
        should_stop: Callable[[], bool],
        repository: Repository | None = None,
        trust: Trust | None = None,
        confine: Callable[[str], Sandbox] = lambda _: NoSandbox(),
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._options = options
        self._environ = environ
        self._cwd = cwd
        self._library = library
        self._worker = worker
        self._command = command
        self._notify: Callable[[Progress], None] = lambda _: None
        self._should_stop = should_stop
        self._trust = trust
        self._clock = clock
        self.project = self._step("").current_project
        self._claims = self._step("").claims(self.project)
        self._sandbox = confine(self.project)
        self._commits = (
            None
            if repository is None
            else StoryCommits(
                repository,
                project=self.project,
                plan=plan_paths(self.project, options.change),
                store=library.store.url,
                resets=options.resets,
            )
        )

    def stories(self) -> tuple[Story, ...]:
        """The stories as of now."""
        return self._step("").plan_of(self.project, self._options.change).stories()

    def next_prompt(self) -> str:
        """The prompt for the next story; empty if all are complete. Changes nothing."""
        plan = self._step("").plan_of(self.project, self._options.change)
        story = find_next(plan.stories())
        if story is None:
            return ""
        return render_prompt(assign(plan, story, session_id="ID", command=self._command, verify=self._options.verify))

    def run(self, notify: Callable[[Progress], None]) -> RunResult:
        """Work until the change is complete, a story fails or a signal comes. SegueError if it cannot start."""
        self._notify = notify
        self.stories()  # raises if there is no such change
        with self._session() as session, self._agent_lock(session) as lock:
            if self._options.verify_source:
                self._notify(
                    Notice(
                        text=f"stories are verified with `{self._options.verify}`, from {self._options.verify_source};"
                        " --verify COMMAND uses another, --no-verify none"
                    )
                )
            if self._commits is not None and (
                text := self._commits.begin(session.overview.overrides.get(_UNCOMMITTED))
            ):
                self._notify(Notice(text=text))
            try:
                result = self._work(session, lock)
            finally:
                copy_notes(session, self._step(session.id).overview)
                if self._commits is not None:
                    session.set_overrides({**session.overview.overrides, _UNCOMMITTED: self._commits.left()})
            if result is RunResult.COMPLETE:
                end_session(self._step(session.id))
                session.complete()
                if text := self._commit("learnings and patterns"):
                    self._notify(Notice(text=text))
            return result

    @contextmanager
    def _session(self) -> Iterator[LiveSession]:
        """The session in the library, and the change's session with the same id: resumed if ours, else new."""
        change, takeover = self._options.change, self._options.takeover
        claim = self._claims.find(change)
        if claim is not None and self._is_ours(claim):
            session = self._library.resume(claim.session, force=True, timeout_seconds=0.0)
            is_new = False
            restore_backup(self._step(session.id).store.folder, self.project, session.id)
        else:
            if claim is not None and not takeover and not self._claims.is_stale(claim):
                raise ChangeLockedError(claim)
            if find_owner(self._claims.locks, agent_lock_name(change)) is not None:
                raise self._agent_at_work("an agent")
            session_id = self._library.store.new_id(change, self._clock(), os.urandom(16))
            extra: dict[str, object] = {"change_name": change, "project": self.project}
            session = self._library.create(
                id=session_id, agent=self._worker.name, title=f"Change {change}", extra=extra
            )
            is_new = True
        with session:
            try:
                started = start_session(self._step(session.id), change, takeover=takeover, lasting=True)
            except BaseException:
                if is_new:
                    session.release()
                    self._library.delete(session.id)
                raise
            self._notify(
                RunStarted(session_id=session.id, is_new=is_new, project=self.project, agent=self._worker.name)
            )
            for warning in started.warnings:
                self._notify(Notice(text=warning))
            if not is_new:
                self._import_turns(session)
            yield session

    def _is_ours(self, claim: Claim) -> bool:
        """Whether the claim belongs to an orchestrator with the same library."""
        if claim.host != os.uname().nodename or not is_id(claim.session):
            return False
        try:
            self._library.store.revision(claim.session)
        except NotFoundError:
            return False
        return True

    @contextmanager
    def _agent_lock(self, session: LiveSession) -> Iterator[WriterLock]:
        """The lock that agents inherit: one that outlived its orchestrator still holds it."""
        name = agent_lock_name(self._options.change)
        lock = WriterLock.acquire(self._claims.locks, name, timeout_seconds=0.0, since=self._clock())
        if not isinstance(lock, WriterLock):
            raise self._agent_at_work(session.overview.overrides.get("tool") or "an agent")
        try:
            yield lock
        finally:
            lock.release()

    def _agent_at_work(self, agent: object) -> ConflictError:
        return ConflictError(
            f"{agent} of an earlier run is still working on change {self._options.change}",
            hint="wait until it ends, or stop it; then run the same command again",
        )

    def _work(self, session: LiveSession, lock: WriterLock) -> RunResult:
        story, count = self._unfinished(session.id), 0
        while True:
            story = story or select_next_story(self._step(session.id))
            if story is None:
                return RunResult.COMPLETE
            if count == self._options.max_stories:
                return RunResult.ENOUGH
            is_done = self._complete_story(session, story.id, lock)
            if self._should_stop():
                return RunResult.STOPPED
            if not is_done:
                return RunResult.FAILED
            story, count = None, count + 1

    def _unfinished(self, session_id: str) -> Story | None:
        """The current story of an earlier call, ticked or not: it was not verified."""
        step = self._step(session_id)
        return next((story for story in step.plan.stories() if story.id == step.story_id), None)

    def _complete_story(self, session: LiveSession, story_id: str, lock: WriterLock) -> bool:
        """Try a story until it is verified; False if no attempts are left, or a signal came."""
        failure, attempts = "", self._options.max_retries + 1
        story = get_story(self._step(session.id).plan.stories(), story_id)
        open_tasks = [task.id for task in story.tasks if not task.done]
        if self._commits is not None:
            self._commits.begin_story()
        for number in range(1, attempts + 1):
            step = self._step(session.id)
            step.check_claim()
            if number > 1 and self._options.resets:
                self._reset(step, story, open_tasks, number - 1)
            story = get_story(step.plan.stories(), story_id)
            protected = ProtectedChange(step, story_id, restores_ticks=not self._options.resets)
            attempt = _Attempt(story, protected)
            if number > 1 or not story.complete:
                self._notify(StoryStarted(story=story, attempt=number, attempts=attempts))
                self._run_agent(session, attempt, failure, lock)
            failure = self._find_failure(session.id, attempt)
            if self._should_stop():
                return False
            story = get_story(step.plan.stories(), story_id)
            if not failure:
                if attempt.ending:
                    self._notify(Notice(text=attempt.ending))
                self._notify(StoryFinished(story=story, commit=self._commit(story.title or f"story {story.id}")))
                return True
            self._notify(StoryFailed(story=story, reason=failure, is_last=number == attempts))
            if number == 1 and self._worker.permission_hint and story.done == attempt.story.done:
                self._notify(Notice(text=self._worker.permission_hint))
            failure = "\n\n".join([failure, *attempt.restored])
        return False

    def _reset(self, step: StepContext, story: Story, open_tasks: Sequence[str], number: int) -> None:
        """Put aside what a failed attempt changed, and open the tasks that it ticked."""
        assert self._commits is not None  # noqa: S101 - the command line requires commits for it
        self._notify(Notice(text=self._commits.reset(f"{self._options.change}, story {story.id}, attempt {number}")))
        for task_id in open_tasks:
            with suppress(NotFoundError):
                step.plan.mark(story.id, task_id, done=False)

    def _restore(self, session_id: str, attempt: _Attempt) -> None:
        """Restore what the agent, or the verification of its work, has destroyed."""
        for note in attempt.protected.restore(self._step(session_id)):
            self._notify(Notice(text=note))
            attempt.restored.append(note)

    def _run_agent(self, session: LiveSession, attempt: _Attempt, failure: str, lock: WriterLock) -> None:
        """Run the agent once."""
        story = attempt.story
        step = self._step(session.id)
        overview = step.overview
        prompt = render_prompt(
            assign(
                step.plan,
                story,
                session_id=session.id,
                command=self._command,
                verify=self._options.verify,
                learnings=overview.learnings,
                patterns=overview.patterns,
                failure=failure,
            )
        )
        environ = {**self._environ, **self._story_environ(session.id, story.id)}
        title = f"{self._options.change} {story.id}: {story.title}"
        agent_run = self._worker.prepare(prompt, title=title, cwd=self.project, environ=environ)
        overrides = {"tool": self._worker.name, "tool_session": agent_run.native_id, "story": story.id}
        session.set_overrides(overrides if self._commits is None else {**overrides, _UNCOMMITTED: self._commits.left()})
        link = LinkedSession(self._worker.name, agent_run.native_id)
        link.record(self._marks_of(session), session.overview.created_at)
        session.add("user", prompt)
        try:
            with self._sandbox.start(agent_run.argv, tool=agent_run.tool) as start:
                ended = run_command(
                    start.argv,
                    cwd=self.project,
                    environ={**environ, **agent_run.environ, **start.environ},
                    stdin=agent_run.stdin,
                    on_output=lambda text: self._notify(OutputReceived(text=text)),
                    should_stop=self._should_stop,
                    pass_fds=(lock.fileno(), *start.descriptors),
                    limits=self._options.limits,
                )
        finally:
            for path in agent_run.passing:
                remove_file(path)
        self._restore(session.id, attempt)
        if not self._import_turns(session) and ended.output.strip():
            session.add("assistant", ended.output.strip(), partial=ended.code is None)
        copy_notes(session, self._step(session.id).overview)
        attempt.ending = f"{self._worker.name} {ended.failure}" if ended.failure else ""

    def _find_failure(self, session_id: str, attempt: _Attempt) -> str:
        """Verify the story; why it is not done, empty if it is."""
        if self._should_stop():
            return "the run was stopped"
        story_id, verify = attempt.story.id, self._options.verify
        reasons: list[str] = []
        if verify:
            self._notify(Verifying(command=verify))
            with self._sandbox.start(["/bin/sh", "-c", verify]) as start:
                ended = run_command(
                    start.argv,
                    cwd=self.project,
                    environ={**self._environ, **self._story_environ(session_id, story_id), **start.environ},
                    on_output=lambda text: self._notify(OutputReceived(text=text)),
                    should_stop=self._should_stop,
                    pass_fds=start.descriptors,
                    limits=self._options.limits,
                )
            self._restore(session_id, attempt)
            if ended.failure:
                output = ended.output[-_QUOTED_CHARACTERS:].strip()
                reasons.append(f"`{verify}` {ended.failure}" + (f", with this output:\n\n{output}" if output else ""))
        open_tasks = [task for task in get_story(self.stories(), story_id).tasks if not task.done]
        if open_tasks:
            reasons.append("These tasks are not ticked: " + ", ".join(task.id for task in open_tasks))
        return "\n\n".join([*reasons, *([attempt.ending] if attempt.ending else [])]) if reasons else ""

    def _commit(self, what: str) -> str:
        """Commit; the result for the user, empty if there was nothing to commit."""
        return "" if self._commits is None else self._commits.commit(f"{self._options.change}: {what}")

    def _import_turns(self, session: LiveSession) -> bool:
        marks = self._marks_of(session)
        return import_turns(session, project=self.project, environ=self._environ, notify=self._notify, marks=marks)

    def _marks_of(self, session: LiveSession) -> Marks | None:
        return self._trust.of(session.store.url, session.id) if self._trust is not None else None

    def _story_environ(self, session_id: str, story_id: str) -> dict[str, str]:
        return {"RALPH_SESSION": session_id, "RALPH_STORY": story_id, "RALPHTOOL": self._command}

    def _step(self, session_id: str) -> StepContext:
        environ = {name: value for name, value in self._environ.items() if name == "TMPDIR"}
        return StepContext(environ=environ, cwd=self._cwd, session=session_id, clock=self._clock)
