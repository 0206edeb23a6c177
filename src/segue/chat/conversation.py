"""The engine: records the question, asks the agent, streams and records the answer, and runs the tool loop.

The question is recorded before the agent receives it, and the answer before control returns. A process that is killed
at any moment loses nothing of the conversation and records nothing twice.

An answer may call tools. A call is recorded before it runs, and its result before the agent receives it. A call that
was cut off is recorded as unknown, and never repeated on its own.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.chat.agent import AgentError, Request, TextDelta, Usage
from segue.chat.answer import UnsavedTurn, close_pieces, find_decisions, no_pieces
from segue.chat.context.request import RequestBuilder
from segue.chat.context.tokens import Spending, Stats
from segue.chat.drafts import Drafts
from segue.chat.summary import shortened
from segue.errors import SegueError, UsageError
from segue.tools import ToolCall, ToolResult
from segue.tools.call import INTERRUPTED, NOT_STARTED, RESULT_UNKNOWN, refused
from segue.tools.recorded_calls import (
    call_to_part,
    calls_of,
    find_unanswered,
    format_call,
    recordable,
    result_to_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator
    from contextlib import AbstractContextManager

    from segue.chat.agent import Agent, Piece
    from segue.chat.context.tokens import Counter
    from segue.model import Overview, Turn
    from segue.presets import Preset
    from segue.session import LiveSession
    from segue.tools.executor import ToolExecutor

MAX_TOKENS = 100_000
TITLE_LENGTH = 60
TOOL_ROUNDS = 25
"""An answer may call tools this often; then it has to end in text."""


class Conversation:
    """One session with one agent. Creating it reads nothing and writes nothing."""

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
        changed_files: Collection[str] = (),
        drafts: Drafts | None = None,
        executor: ToolExecutor | None = None,
        titles: bool = False,
    ) -> None:
        if max_tokens < 1:
            raise UsageError(f"max_tokens must be a number of tokens, not {max_tokens}")
        self.session = session
        self.agent = agent
        self.preset = preset
        self.model = model
        """The model to ask for; empty for the default of the agent."""
        self.autorecord = autorecord
        """Whether each `[DECISION: …]` in an answer is recorded as a decision."""
        self.changed_files = changed_files
        """Paths of attachments whose files have changed since they were attached."""
        self.named: dict[str, str] = {}
        """The agent and the model that the user named, never those that only the session names."""
        self.initial: Overview | None = None
        """The first state of a session that exists for this conversation alone; None for any other session."""
        self.decisions: tuple[str, ...] = ()
        """The decisions recorded from the last answer."""
        self.left_out = 0
        """The number of turns that the last request had no room for."""
        self.requests = RequestBuilder(session, budget=max_tokens, counter=counter)
        self._unsaved: UnsavedTurn | None = None
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
        """The user's turn at the end of the branch that has no complete answer, also after a crash."""
        return None if self._has_unsaved else self._unanswered[0]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the last answer: `perform` each, then `continue_answer`."""
        return self._calls if self._calls_place == self._place else ()

    @property
    def lost_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the last answer before a crash: it is unknown whether they ran."""
        return () if self.calls or self._has_unsaved else self._unanswered[1]

    @property
    def draft(self) -> str:
        """The part of the answer to the pending question that had arrived before a crash; empty if there is none."""
        return self._drafts.find(self.session.overview) if self.pending is not None else ""

    def save_draft(self) -> None:
        """Record the part of an answer that a crash left, marked as partial."""
        if text := self.draft:
            counter = self.requests.counter
            self._unsaved = UnsavedTurn(
                place=self._place, content=text, tokens=counter.count(text), tokens_by=counter.kind, partial=True
            )
            self.save()

    @property
    def unsaved(self) -> str:
        """An answer that could not be recorded; `save` tries again, and so does the next question."""
        turn = self._unsaved
        if turn is None or not self._has_unsaved:
            return ""
        return turn.content or "\n".join(format_call(call) for call in turn.calls)

    @property
    def is_blank(self) -> bool:
        """Whether the session was created for this conversation and has no content."""
        first, now = self.initial, self.session.overview
        return first is not None and first == replace(
            now, seq=first.seq, status=first.status, updated_at=first.updated_at
        )

    @property
    def is_streaming(self) -> bool:
        """Whether an answer is streaming or a tool is running, which can be interrupted; nothing is being recorded."""
        return self._is_streaming or self._is_working

    def ask(self, text: str) -> Generator[str, None, None]:
        """Record the user's turn, and yield the answer as it streams; at its end the answer is recorded.

        The user's turn is on disk when this returns, even if the answer is never read. A text that is already pending
        is not recorded again. Closing the generator early records the part that had arrived, marked as partial.
        """
        if not text.strip():
            raise UsageError("the question is empty", hint="type a question")
        pending = self._begin()
        is_recorded = pending is not None and pending.content == text
        request = self._request(None if is_recorded else text)
        self._record_preset()
        if not is_recorded:
            self.session.add(
                "user", text, tokens=self.requests.counter.count(text), tokens_by=self.requests.counter.kind
            )
        pieces = self._stream(request, self._place)
        if self._titles and not self.session.title and self.session.overview.turn_count == 1:
            self.session.rename(title=shortened(text, TITLE_LENGTH))
        return pieces

    def retry(self) -> Generator[str, None, None]:
        """Ask the pending question again, without recording it again; an unsaved answer is saved instead."""
        self._check_idle()
        if (turn := self._unsaved) is not None and self._has_unsaved:
            self.save()
            if turn.role == "assistant" or self.calls:
                return no_pieces()
        if self._begin() is None:
            raise UsageError("every question has an answer", hint="ask another one")
        request = self._request()
        self._record_preset()
        return self._stream(request, self._place)

    def perform(
        self, call: ToolCall, *, running: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> ToolResult:
        """Run a tool call of the last answer, if the scope and the user allow it, and record its result.

        It runs within the block `running`. An interrupt (KeyboardInterrupt, SystemExit) also cancels the calls after
        it; all of that is recorded.
        """
        try:
            taken = self._executor.prepare(call) if self._executor is not None else refused("there are no tools here")
            result = taken if isinstance(taken, ToolResult) else self._invoke(taken, running)
        except (KeyboardInterrupt, SystemExit):
            self._record_result(call, INTERRUPTED)
            for other in self.calls:
                self._record_result(other, NOT_STARTED)
            raise
        self._record_result(call, result)
        return result

    def was_shown(self, call: ToolCall) -> bool:
        """Whether the user has seen this call in a question."""
        return self._executor is not None and self._executor.was_shown(call)

    def continue_answer(self) -> Generator[str, None, None]:
        """The rest of an answer after its tool calls, whose results are recorded and sent to the agent."""
        self._check_idle()
        self.save()
        if self.calls:
            raise UsageError("not every tool call was performed", hint="perform every call first")
        self._rounds += 1
        return self._stream(self._request(), self._place)

    def save(self) -> None:
        """Record an answer that could not be recorded before; does nothing if there is none.

        An answer is never recorded after another question: if the session has continued elsewhere, nothing happens.
        """
        turn = self._unsaved
        if turn is None or not self._has_unsaved:
            return
        asked = self.session.overview
        self.session.add(
            turn.role,
            turn.content,
            tokens=turn.tokens,
            tokens_by=turn.tokens_by,
            model=turn.model,
            partial=turn.partial,
            parts=turn.parts,
        )
        self._unsaved = None
        self._calls = turn.calls
        self._calls_place = self._place
        self._drafts.drop(asked)
        self._record_decisions(turn)

    def stats(self) -> Stats:
        return Stats(
            turns=self.session.overview.turn_count,
            tokens_in=self._spending.tokens_in,
            tokens_out=self._spending.tokens_out,
            budget=self.requests.budget,
            window_used=self.requests.used(self.preset, self.changed_files),
            tokens_by=self._spending.by,
            calls=dict(self._performed),
        )

    @property
    def _place(self) -> tuple[str, int]:
        return self.session.branch, self.session.overview.turn_count

    @property
    def _has_unsaved(self) -> bool:
        """Whether an answer is waiting to be recorded here.

        An interrupt can come between the record of an answer and its acknowledgement: then the turn is already there.
        """
        return self._unsaved is not None and self._unsaved.place == self._place

    @property
    def _unanswered(self) -> tuple[Turn | None, tuple[ToolCall, ...]]:
        """The pending turn of the user, and the pending tool calls; usually the last turn alone is read."""
        newest = self.requests.newest
        if newest is None or newest.role == "user":
            return newest, ()
        return find_unanswered(self.session) if newest.role == "tool" or calls_of(newest) else (None, ())

    def _begin(self) -> Turn | None:
        """Record an unsaved answer and the calls that were cut off; returns the pending question."""
        self._check_idle()
        self.save()
        self._rounds, self.decisions = 0, ()
        pending, lost = self._unanswered
        for call, result in [(call, NOT_STARTED) for call in self.calls] or [(call, RESULT_UNKNOWN) for call in lost]:
            self._record_result(call, result)
        return pending

    def _check_idle(self) -> None:
        if self._is_streaming:
            raise UsageError(
                "an answer is still streaming", hint="read all of it, or close it, before the next question"
            )

    def _request(self, text: str | None = None) -> Request:
        tools = self._executor.specs if self._executor is not None and self._rounds < TOOL_ROUNDS else ()
        request, self.left_out = self.requests.make(
            text, preset=self.preset, changed=self.changed_files, model=self.model, tools=tools
        )
        return request

    def _stream(self, request: Request, place: tuple[str, int]) -> Generator[str, None, None]:
        self._check_idle()
        if place != self._place:
            raise UsageError("the conversation has continued since this question", hint="ask again")
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
            raise AgentError(f"{self.agent.name} failed: {error}", hint="ask again, or use another agent") from error
        finally:
            self._is_streaming = False
            draft.close()
            try:
                if not has_failed and ("".join(texts).strip() or (calls and is_finished)):
                    self._record_answer(
                        "".join(texts), calls if is_finished else (), usage, request, partial=not is_finished
                    )
                else:
                    self._drafts.drop(asked)
            finally:
                close_pieces(pieces)

    def _record_answer(
        self, content: str, calls: Iterable[ToolCall], usage: Usage | None, request: Request, *, partial: bool
    ) -> None:
        counted = self._spending.add(content, usage, request, self.requests.counter)
        calls = recordable(calls)
        self._unsaved = UnsavedTurn(
            place=self._place,
            content=content,
            tokens=counted.tokens,
            tokens_by=counted.by,
            model=(usage.model if usage is not None else "") or request.model or self.agent.name,
            partial=partial,
            parts=tuple(call_to_part(call) for call in calls),
            calls=calls,
        )
        self.save()

    def _invoke(
        self, invocation: Callable[[], ToolResult], running: Callable[[], AbstractContextManager[None]]
    ) -> ToolResult:
        self._is_working = True
        try:
            with running():
                return invocation()
        finally:
            self._is_working = False

    def _record_result(self, call: ToolCall, result: ToolResult) -> None:
        counter = self.requests.counter
        self._performed[result.status] = self._performed.get(result.status, 0) + 1
        self._unsaved = UnsavedTurn(
            place=self._place,
            role="tool",
            content=result.content,
            tokens=counter.count(result.content),
            tokens_by=counter.kind,
            parts=(result_to_part(call, result),),
            calls=tuple(other for other in self.calls if other.id != call.id),
        )
        self.save()

    def _record_preset(self) -> None:
        """Record the prompt that this question is asked with, unless it is already recorded."""
        if self.preset is None:
            return
        name, now, recorded = self.preset.name, self.preset.hash, self.session.overview.preset
        if recorded is None or (recorded.name, recorded.hash) != (name, now):
            self.session.use_preset(name, hash=now)

    def _record_decisions(self, turn: UnsavedTurn) -> None:
        if not self.autorecord or turn.partial or turn.role != "assistant":
            return
        known = {decision.content for decision in self.session.overview.decisions}
        for content in find_decisions(turn.content):
            if content not in known:
                self.session.decide(content, source="answer")
                self.decisions = (*self.decisions, content)
