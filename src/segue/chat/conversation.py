"""One exchange: assemble the context, record the question, ask, stream, record the answer.

The question is on record before the agent hears of it, and the answer before control returns. So whatever is killed
whenever, nothing that was said is lost, and nothing is recorded twice.

An answer may want something done. That it does is on record before it is begun, and what came of it before the agent
is told, and the answer goes on. A call that was cut off is on record as unknown, and nobody makes it again unasked.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.chat.agent import AgentError, Request, TextDelta, Usage
from segue.chat.context.request import RequestBuilder
from segue.chat.decisions import find_decisions
from segue.chat.drafts import Drafts
from segue.chat.summary import shortened
from segue.chat.usage import Spending, Stats
from segue.errors import SegueError, UsageError
from segue.model import JsonObject, Turn
from segue.tools import ToolCall, ToolResult
from segue.tools.call import CUT_OFF, INTERRUPTED, NOT_BEGUN, refused
from segue.tools.records import calls_of, line_of, part_of, recordable, result_of, unanswered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator

    from segue.chat.agent import Agent, Piece
    from segue.chat.context.tokens import Counter
    from segue.model import Overview
    from segue.presets import Preset
    from segue.session import LiveSession
    from segue.tools.executor import ToolExecutor

MAX_TOKENS = 100_000
TITLE_LENGTH = 60
ROUNDS = 25
"""So often an answer may have something done; then it has to end in words."""


class _Said(Struct, frozen=True, kw_only=True):
    """What is to be recorded."""

    place: tuple[str, int]
    """The branch, and how many turns it has before this one."""
    role: str = "assistant"
    content: str
    tokens: int
    tokens_by: str
    model: str = ""
    partial: bool = False
    parts: tuple[JsonObject, ...] = ()
    calls: tuple[ToolCall, ...] = ()


class Conversation:
    """One session, one agent: ask, stream, record. Opening one reads nothing and writes nothing."""

    def __init__(
        self,
        session: LiveSession,
        agent: Agent,
        *,
        preset: Preset | None = None,
        model: str = "",
        max_tokens: int = MAX_TOKENS,
        counter: Counter | None = None,
        autorecord: bool = False,
        changed: Collection[str] = (),
        drafts: Drafts | None = None,
        executor: ToolExecutor | None = None,
        titles: bool = False,
    ) -> None:
        if max_tokens < 1:
            raise UsageError(f"max_tokens is a number of tokens, not {max_tokens}")
        self.session = session
        self.agent = agent
        self.preset = preset
        self.model = model
        """What the agent is asked for; empty for its own choice."""
        self.autorecord = autorecord
        """Whether a `[DECISION: …]` in an answer is recorded as one."""
        self.changed = changed
        """Paths of attachments whose files have changed since."""
        self.said: dict[str, str] = {}
        """The agent and the model that were asked for by name, and are used: never what a session merely says."""
        self.began: Overview | None = None
        """What a session was made of that exists for this conversation alone; None for any other."""
        self.found: tuple[str, ...] = ()
        """The decisions recorded of the last answer."""
        self._requests = RequestBuilder(session, budget=max_tokens, counter=counter)
        self._unsaved: _Said | None = None
        self._drafts = drafts or Drafts()
        self._executor = executor
        self._titles = titles
        self._calls: tuple[ToolCall, ...] = ()
        self._calls_place = ("", 0)
        self._rounds = 0
        self._performed: dict[str, int] = {}
        self._is_streaming = self._is_working = False
        self._spending = Spending()

    @property
    def pending(self) -> Turn | None:
        """The user's turn at the end of the branch that nobody has answered to the end, also after a crash."""
        return None if self._has_unsaved else self._unanswered[0]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """What the last answer wants done: `perform` each, then `go_on`."""
        return self._calls if self._calls_place == self._place else ()

    @property
    def lost_calls(self) -> tuple[ToolCall, ...]:
        """What the last answer wanted done when a crash came: whether it was done, nobody knows."""
        return () if self.calls or self._has_unsaved else self._unanswered[1]

    @property
    def cut_off(self) -> str:
        """What had come of the answer to the pending question when a crash came, where that is kept."""
        return self._drafts.find(self.session.overview) if self.pending is not None else ""

    def keep_cut_off(self) -> None:
        """Record what a crash left of an answer, marked as partial."""
        if text := self.cut_off:
            counter = self._counter
            self._unsaved = _Said(
                place=self._place, content=text, tokens=counter.count(text), tokens_by=counter.kind, partial=True
            )
            self.save()

    @property
    def unsaved(self) -> str:
        """An answer that came and could not be recorded; `save` tries again, and so does the next question."""
        said = self._unsaved
        if said is None or not self._has_unsaved:
            return ""
        return said.content or "\n".join(line_of(call) for call in said.calls)

    @property
    def is_blank(self) -> bool:
        """Whether the session was begun for this conversation and holds nothing that anybody would miss."""
        began, now = self.began, self.session.overview
        return began is not None and began == replace(
            now, seq=began.seq, status=began.status, updated_at=began.updated_at
        )

    @property
    def is_streaming(self) -> bool:
        """Whether an answer is coming, or something is being done: that can be stopped, and nothing is recorded."""
        return self._is_streaming or self._is_working

    def ask(self, text: str) -> Generator[str, None, None]:
        """Record the user's turn and give the answer as it comes; when it has come, it is recorded.

        The turn is on disk when this returns, even if nobody takes the answer. A text that is pending already is not
        recorded again. Closing the generator early records what had come, marked as partial.
        """
        if not text.strip():
            raise UsageError("there is nothing to ask", hint="type a question")
        pending = self._begin()
        is_recorded = pending is not None and pending.content == text
        request = self._request(None if is_recorded else text)
        self._record_preset()
        if not is_recorded:
            self.session.add("user", text, tokens=self._counter.count(text), tokens_by=self._counter.kind)
        pieces = self._answer(request)
        if self._titles and not self.session.title and self.session.overview.turn_count == 1:
            self.session.rename(title=shortened(text, TITLE_LENGTH))
        return pieces

    def retry(self) -> Generator[str, None, None]:
        """Ask again what is pending, without recording it again; an unsaved answer is saved instead."""
        self._check_idle()
        if (said := self._unsaved) is not None and self._has_unsaved:
            self.save()
            if said.role == "assistant" or self.calls:
                return _nothing()
        if self._begin() is None:
            raise UsageError("there is no question without an answer", hint="ask one")
        request = self._request()
        self._record_preset()
        return self._answer(request)

    def perform(self, call: ToolCall) -> ToolResult:
        """Do what the last answer wants, if the scope and the person allow it, and record what came of it.

        Whoever stops it (KeyboardInterrupt, SystemExit) stops the calls behind it as well: all of that is recorded.
        """
        try:
            job = self._executor.take(call) if self._executor is not None else refused("there are no tools here")
            outcome = job if isinstance(job, ToolResult) else self._work(job)
        except (KeyboardInterrupt, SystemExit):
            self._record_outcome(call, INTERRUPTED)
            for other in self.calls:
                self._record_outcome(other, NOT_BEGUN)
            raise
        self._record_outcome(call, outcome)
        return outcome

    def go_on(self) -> Generator[str, None, None]:
        """The answer from where it wanted something done; that is on record, and the agent is told."""
        self._check_idle()
        self.save()
        if self.calls:
            raise UsageError("something is still to be done", hint="perform every call first")
        self._rounds += 1
        return self._answer(self._request())

    def save(self) -> None:
        """Record the answer that could not be recorded when it came; does nothing if there is none.

        Nor if the conversation has gone on elsewhere since: an answer is never recorded behind another question.
        """
        said = self._unsaved
        if said is None or not self._has_unsaved:
            return
        asked = self.session.overview
        self.session.add(
            said.role,
            said.content,
            tokens=said.tokens,
            tokens_by=said.tokens_by,
            model=said.model,
            partial=said.partial,
            parts=said.parts,
        )
        self._unsaved = None
        self._calls = said.calls
        self._calls_place = self._place
        self._drafts.drop(asked)
        self._record_decisions(said)

    def stats(self) -> Stats:
        return Stats(
            turns=self.session.overview.turn_count,
            tokens_in=self._spending.tokens_in,
            tokens_out=self._spending.tokens_out,
            budget=self._requests.budget,
            window_used=self._requests.used(self.preset, self.changed),
            tokens_by=self._spending.by,
            calls=dict(self._performed),
        )

    @property
    def _place(self) -> tuple[str, int]:
        return self.session.branch, self.session.overview.turn_count

    @property
    def _has_unsaved(self) -> bool:
        """Whether an answer waits to be recorded here.

        An interrupt can come between the record of an answer and its acknowledgement: then a turn is there already.
        """
        return self._unsaved is not None and self._unsaved.place == self._place

    @property
    def _unanswered(self) -> tuple[Turn | None, tuple[ToolCall, ...]]:
        """The user's turn at the end, and the calls at the end; mostly the last turn alone has to be looked at."""
        newest = self._requests.newest
        if newest is None or newest.role == "user":
            return newest, ()
        return unanswered(self.session) if newest.role == "tool" or calls_of(newest) else (None, ())

    @property
    def _counter(self) -> Counter:
        return self._requests.counter

    def _begin(self) -> Turn | None:
        """Settle an answer that could not be recorded and calls that were cut off; the question that is pending."""
        self._check_idle()
        self.save()
        self._rounds, self.found = 0, ()
        pending, lost = self._unanswered
        for call, outcome in [(call, NOT_BEGUN) for call in self.calls] or [(call, CUT_OFF) for call in lost]:
            self._record_outcome(call, outcome)
        return pending

    def _check_idle(self) -> None:
        if self._is_streaming:
            raise UsageError("an answer is still coming", hint="take all of it, or close it, before the next question")

    def _request(self, text: str | None = None) -> Request:
        tools = self._executor.offers if self._executor is not None and self._rounds < ROUNDS else ()
        return self._requests.make(text, preset=self.preset, changed=self.changed, model=self.model, tools=tools)

    def _answer(self, request: Request) -> Generator[str, None, None]:
        return self._stream(request, self._place)

    def _stream(self, request: Request, place: tuple[str, int]) -> Generator[str, None, None]:
        self._check_idle()
        if place != self._place:
            raise UsageError("the conversation has gone on since this question", hint="ask again")
        texts: list[str] = []
        calls: list[ToolCall] = []
        usage: Usage | None = None
        is_finished = has_failed = False
        pieces: Iterator[Piece] = iter(())
        asked = self.session.overview
        draft = self._drafts.begin(asked)
        self._is_streaming = True
        try:
            pieces = self.agent.answer(request)
            for piece in pieces:
                match piece:
                    case Usage():
                        usage = piece
                    case ToolCall() if request.tools:
                        calls.append(piece)
                    case TextDelta() if piece.text:
                        texts.append(piece.text)
                        draft.add(piece.text)
                        yield piece.text
            if not calls and not "".join(texts).strip():
                raise AgentError(f"{self.agent.name} gave no answer", hint="ask again", can_retry=True)
            is_finished = True
        except SegueError:
            has_failed = True
            raise
        except Exception as error:
            has_failed = True
            raise AgentError(f"{self.agent.name} failed: {error}", hint="ask again, or let another answer") from error
        finally:
            self._is_streaming = False
            draft.close()
            try:
                if not has_failed and ("".join(texts).strip() or (calls and is_finished)):
                    self._keep("".join(texts), calls if is_finished else (), usage, request, partial=not is_finished)
                else:
                    self._drafts.drop(asked)
            finally:
                _close(pieces)

    def _keep(
        self, content: str, calls: Iterable[ToolCall], usage: Usage | None, request: Request, *, partial: bool
    ) -> None:
        counted = self._spending.add(content, usage, request, self._counter)
        calls = recordable(calls)
        self._unsaved = _Said(
            place=self._place,
            content=content,
            tokens=counted.tokens,
            tokens_by=counted.by,
            model=(usage.model if usage is not None else "") or request.model or self.agent.name,
            partial=partial,
            parts=tuple(part_of(call) for call in calls),
            calls=calls,
        )
        self.save()

    def _work(self, job: Callable[[], ToolResult]) -> ToolResult:
        self._is_working = True
        try:
            return job()
        finally:
            self._is_working = False

    def _record_outcome(self, call: ToolCall, outcome: ToolResult) -> None:
        counter = self._counter
        self._performed[outcome.status] = self._performed.get(outcome.status, 0) + 1
        self._unsaved = _Said(
            place=self._place,
            role="tool",
            content=outcome.content,
            tokens=counter.count(outcome.content),
            tokens_by=counter.kind,
            parts=(result_of(call, outcome),),
            calls=tuple(other for other in self.calls if other.id != call.id),
        )
        self.save()

    def _record_preset(self) -> None:
        """Say which prompt this question is asked with, where the record does not say so yet."""
        if self.preset is None:
            return
        name, now, recorded = self.preset.name, self.preset.hash, self.session.overview.preset
        if recorded is None or (recorded.name, recorded.hash) != (name, now):
            self.session.use_preset(name, hash=now)

    def _record_decisions(self, said: _Said) -> None:
        if not self.autorecord or said.partial or said.role != "assistant":
            return
        known = {decision.content for decision in self.session.overview.decisions}
        for content in find_decisions(said.content):
            if content not in known:
                self.session.decide(content, source="answer")
                self.found = (*self.found, content)


def _close(pieces: Iterator[Piece]) -> None:
    """Let the agent stop its work; what fails there costs nothing that was said."""
    close = getattr(pieces, "close", None)
    if close is not None:
        with suppress(Exception):
            close()


def _nothing() -> Generator[str, None, None]:
    yield from ()
