"""The chat loop: read a line, run a command or ask the agent, until the user leaves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segue import process
from segue.chat.agent import AgentError
from segue.chat.agents.resolved import short_name
from segue.chat.auto_pause import rest, save_at_exit, wake
from segue.chat.commands import Called, Leave, TypedLine, UnknownCommand, table_of
from segue.chat.commands.attachments import attach, attach_mentioned, report_attachments
from segue.chat.commands.completion import suggestions
from segue.chat.commands.session import preview
from segue.chat.session_finder import places_of
from segue.chat.tool_loop import run_tool_loop
from segue.clock import utc_now
from segue.errors import SegueError
from segue.surface import Idle
from segue.tools.call import RESULT_UNKNOWN
from segue.tools.recorded_calls import format_call

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from datetime import datetime

    from segue.chat.agent import Agents
    from segue.chat.conversation import Conversation
    from segue.chat.dialect import Dialect
    from segue.chat.session_finder import SessionFinder
    from segue.index import IndexEntry
    from segue.library import Library
    from segue.model import Status
    from segue.session import LiveSession
    from segue.surface import Suggestion, Surface

_INTERRUPTED = 130
_LEAVING = ("/exit", "/quit", "exit", "quit")


class Chat:
    """Runs one conversation at a time, and is the writer of its session until the user leaves."""

    def __init__(
        self,
        library: Library,
        conversation: Conversation,
        *,
        surface: Surface,
        agents: Agents,
        dialect: Dialect,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.library = library
        self.conversation = conversation
        self.surface = surface
        self.terminal = surface.terminal
        self.agents = agents
        self.dialect = dialect
        self.clock = clock
        self.table = table_of(dialect)
        self.listed: Sequence[IndexEntry] = ()
        """The last list, for commands that take its numbers."""
        self.previous: tuple[str, str] | None = None
        """The store and id of the session before the current one."""
        self._failures = 0
        self._too_long: set[tuple[str, str]] = set()
        conversation.autorecord = conversation.autorecord or dialect.autorecord
        if dialect.keeps_blank:
            conversation.initial = None

    @property
    def session(self) -> LiveSession:
        return self.conversation.session

    @property
    def finder(self) -> SessionFinder:
        return self.dialect.finder(self.library)

    def is_current(self, entry: IndexEntry) -> bool:
        """Whether the conversation of an entry is the one that runs."""
        return (self.library.store.url, self.session.id) in places_of(entry)

    @property
    def model(self) -> str:
        """The model that is asked for; empty for the default of the agent."""
        return self.conversation.model

    @property
    def agent_name(self) -> str:
        """The short name of the agent that answers: of its preset, or of itself."""
        return self.conversation.preset.name if self.conversation.preset else short_name(self.conversation.agent)

    def run(self) -> int:
        """Chat until /exit, Ctrl-D or the end of input, and record the status that the way of leaving means.

        Returns 0, or in a script 1 if a line failed. An exception leaves the
        session as it is, so that it counts as interrupted.
        """
        self.terminal.complete_with(self._suggest)
        try:
            code = self._talk()
        except SystemExit:  # by a signal
            save_at_exit(self.conversation, self.dialect, self.terminal)
            raise
        except BaseException:
            self.session.release()
            raise
        return code

    def send(self, text: str) -> None:
        """Send a message with the files that it mentions, and show the answer."""
        attach_mentioned(self, text)
        self._answer(lambda: self.conversation.ask(text))

    def ask_again(self) -> None:
        """Ask the unanswered message again, without recording it again."""
        self._answer(lambda: self.conversation.retry())  # noqa: PLW0108 - of whichever conversation it is then

    def go_to(
        self,
        session: LiveSession,
        *,
        agent: str = "",
        model: str = "",
        library: Library | None = None,
        dialect: Dialect | None = None,
        recap: Callable[[], None] = lambda: None,
        discards_blank: bool = False,
    ) -> None:
        """Continue in another session, after a recap; the current one is closed.

        The named agent answers there, or else the one that answered before. A session of another library brings that
        library and its dialect along. With `discards_blank` the session is deleted if it stays empty.
        """
        try:
            self.conversation.save()
            conversation = self.agents.attach(session, agent, model)
        except BaseException:
            session.close()  # it was not used
            raise
        left, old_library, resume = self.conversation, self.library, self._text("{resume}")
        conversation.autorecord = left.autorecord
        self._settle("paused")
        self.conversation, self.library, self.dialect = conversation, library or old_library, dialect or self.dialect
        where, self.previous = "", None
        if _close(left, old_library):
            self.previous = old_library.store.url, left.session.id
            elsewhere = f" (resume with: {resume})" if self.library is not old_library else ""
            where = f"; {left.session.id} is {left.session.status}{elsewhere}"
        if discards_blank and not self.dialect.keeps_blank:
            conversation.initial = session.overview
        self.dialect.entered(self.library.store.url, session.id)
        self.terminal.note(self._text("now in session {id}, with {turns}") + where)
        recap()
        self._begin()

    def change_agent(self, spec: str) -> None:
        """Switch to another agent, and record it: a preset by its name and hash, any other agent as an override."""
        self._change(spec, "")

    def change_model(self, model: str) -> None:
        self._change("", model)

    def _change(self, spec: str, model: str) -> None:
        self.conversation.save()  # an unsaved answer belongs to the conversation that is replaced
        changed = self.agents.attach(self.session, spec, model)
        changed.autorecord = self.conversation.autorecord
        changed.changed_files = self.conversation.changed_files
        changed.initial = self.conversation.initial
        preset = changed.preset
        recorded = self.session.overview
        known = (recorded.preset.name, recorded.preset.hash) if recorded.preset is not None else None
        if preset is not None and known != (preset.name, preset.hash):
            self.session.use_preset(preset.name, hash=preset.hash)
        named = {"model": model}
        if spec:  # another model leaves the agent as it is
            named["agent"] = "" if preset is not None and spec == preset.name else spec
        values = {name: value for name, value in recorded.overrides.items() if name not in named}
        values |= {name: value for name, value in named.items() if value}
        if values != recorded.overrides:
            self.session.set_overrides(values)
        changed.named = {name: str(values[name]) for name in ("agent", "model") if name in values}
        self.conversation = changed

    def _talk(self) -> int:
        step = self._greet
        while True:
            left: Leave | None = None
            try:
                left = step()
            except KeyboardInterrupt:
                if not self.terminal.is_interactive:
                    self._leave(self.dialect.exit_status)
                    return _INTERRUPTED
                self.terminal.note("stopped")
            step = self._step
            if left is not None:
                self._leave(left.status)
                return 1 if self._failures and not self.terminal.is_interactive else 0

    def _greet(self) -> Leave | None:
        if self.terminal.is_interactive and self.dialect.greeting:
            self.terminal.note(self._text(self.dialect.greeting))
        self._begin()
        return None

    def _begin(self) -> None:
        overview = self.session.overview
        if not overview.turn_count and not overview.attachments:
            self._offer_files()
        self._try(self._check_session)

    def _offer_files(self) -> None:
        for name in self.dialect.offers:
            path = self.surface.cwd / name
            if path.is_file() and self.terminal.ask(f"There is a {name} here. Use it as context?", default=True):
                self._try(partial(attach, self, path))

    def _check_session(self) -> None:
        """Report changed files, and offer to ask again what a crash left unanswered."""
        report_attachments(self)
        for call in self.conversation.lost_calls:
            self.terminal.note(f"{format_call(call)}\n  {RESULT_UNKNOWN.content}")
        pending = self.conversation.pending
        if pending is not None:
            self.terminal.note(f"your last message was not answered: {preview(pending.content)}")
            draft = self.conversation.draft
            if draft:
                self.terminal.note(f"{len(draft):,} characters of an answer had arrived: {preview(draft)}")
            if self.terminal.ask("Ask again?", default=True):
                self.ask_again()
            elif draft and self.terminal.ask("Save this part, marked as cut off?", default=True):
                self.conversation.save_draft()

    def _step(self) -> Leave | None:
        """Read one line and handle it. The one place where the chat waits for the user."""
        prompt = self._text(self.dialect.prompt)
        line = self.terminal.read_line(prompt, status=self._status(), idle=self._idle(), session=self.session.id)
        if line is not None and not line.strip():
            return None
        if not self.session.is_open and not self._wake() and line is not None:
            return Leave("paused") if line.strip() in _LEAVING else None
        if line is None:
            return Leave(self.dialect.exit_status)
        match self.table.parse(line):
            case TypedLine(text):
                self._try(lambda: self.send(text))
            case Called(command, argument):
                return self._try(lambda: command.run(self, argument))
            case UnknownCommand(name, near):
                meant = (
                    f"did you mean {' or '.join(f'/{one}' for one in near)}?" if near else "/help lists all commands;"
                )
                self._fail(f"there is no command /{name}", f"{meant} //{name} sends it as text")
        return None

    def _idle(self) -> Idle | None:
        """None if the session is never paused, or already is."""
        seconds = self.dialect.idle_seconds
        act = partial(rest, self.conversation, self.dialect)
        return Idle(seconds=seconds, act=act) if seconds > 0 and self.session.status == "active" else None

    def _wake(self) -> bool:
        """Become the writer again after a pause, with what was said elsewhere meanwhile; whether that was possible."""
        try:
            with self.terminal.busy(f"opening {self.library.store.url}"):
                added = wake(self.session)
            if added is not None:
                left, named = self.conversation, self.conversation.named
                self.conversation = self.agents.attach(self.session, named.get("agent", ""), named.get("model", ""))
                self.conversation.autorecord = left.autorecord
                self.terminal.note(f"the session was continued elsewhere (turns added: {added:,})")
        except SegueError as error:
            self._fail(f"nothing was sent: {error}", self.dialect.hint_for(error))
            return False
        return True

    def _try(self, call: Callable[[], Leave | None]) -> Leave | None:
        try:
            return call()
        except SegueError as error:
            self._fail(str(error), self.dialect.hint_for(error))
            if not self.session.is_open:
                self.terminal.note("your next message opens the session again")
            return None

    def _answer(self, ask: Callable[[], Generator[str, None, None]]) -> None:
        """Show an answer; after an error offer to ask again, as often as the user likes."""
        if self.session.status == "paused":
            self.session.resume()
        while True:
            try:
                with process.interruptible(lambda: self.conversation.is_streaming):
                    run_tool_loop(
                        self.conversation,
                        ask(),
                        show=self._show,
                        notify=self.terminal.note,
                        busy=self.terminal.busy,
                    )
            except KeyboardInterrupt:
                self._report_stop()
                if not self.terminal.is_interactive:
                    raise
            except AgentError as error:
                self.terminal.error(str(error), self.dialect.hint_for(error))
                if self.terminal.ask("Try again?", default=error.can_retry):
                    ask = self.conversation.retry
                    continue
                self._failures += 1
                self.terminal.note("your message is saved; /retry asks again, /agent NAME switches to another agent")
            except SegueError:
                if self.conversation.unsaved:
                    self.terminal.note("the answer could not be recorded; /retry records it")
                raise
            else:
                for decision in self.conversation.decisions:
                    self.terminal.note(f"decision recorded: {decision}")
                self._report_left_out()
            return

    def _report_left_out(self) -> None:
        """Report, once per branch, that the conversation no longer fits into a request."""
        count, place = self.conversation.left_out, (self.session.id, self.session.branch)
        if count and place not in self._too_long:
            self._too_long.add(place)
            turns = f"{count:,} earlier turn{' was' if count == 1 else 's were'}"
            self.terminal.note(f"{turns} left out, which the budget has no room for; /compact sends a summary instead")

    def _show(self, pieces: Iterable[str]) -> None:
        self.terminal.show(pieces, waiting=f"waiting for {self.conversation.agent.name}")

    def _report_stop(self) -> None:
        if self.conversation.pending is None:
            self.terminal.note("stopped; the partial answer is saved, marked as cut off")
        elif self.session.tail(1)[-1].role == "tool":
            self.terminal.note("stopped; the tool results are saved, and /retry continues from there")
        else:
            self.terminal.note("stopped before an answer arrived; your message is saved, and /retry asks again")

    def _fail(self, message: str, hint: str) -> None:
        self._failures += 1
        self.terminal.error(message, hint)

    def _leave(self, status: Status) -> None:
        farewell = self._text(self.dialect.farewell)
        self._try(self.conversation.save)
        self._settle(status)
        if status == "completed" and self.session.is_open:
            self.session.complete()
        is_saved = _close(self.conversation, self.library)
        self.terminal.note(farewell if is_saved else "Empty session discarded.")

    def _settle(self, status: Status) -> None:
        if not self.conversation.is_blank:
            self._try(partial(self.dialect.settle, self.conversation, status))

    def _text(self, template: str) -> str:
        turns = self.session.overview.turn_count
        values = {
            "agent": self.agent_name,
            "id": self.session.id,
            "store": self.library.store.url,
            "turns": f"{turns} turn{'' if turns == 1 else 's'}",
        }
        return template.format(**values, resume=self.dialect.resume.format(**values))

    def _status(self) -> str:
        if not self.terminal.is_interactive:
            return ""
        found = self.conversation.stats()
        about = "" if found.tokens_by == "provider" else "about "
        return (
            f"{about}{found.window_used:,} of {found.budget:,} tokens · {found.turns} turns · "
            f"{self.session.branch} · {self.session.id}"
        )

    def _suggest(self, line: str) -> Iterable[Suggestion]:
        return suggestions(self, line)


def _close(conversation: Conversation, library: Library) -> bool:
    """Close the session, and delete it if it is empty; returns whether it still exists."""
    session = conversation.session
    if not conversation.is_blank:
        session.close()
        return True
    if session.status == "active":
        session.pause()
    revision = library.store.revision(session.id)
    session.close()
    try:
        library.store.delete(session.id, revision=revision)
    except SegueError:
        return True  # another process uses it, or nothing can be deleted here: it stays
    return False
