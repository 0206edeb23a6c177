"""One exchange: assemble the context, record the question, ask, stream, record the answer.

The question is on record before the agent hears of it, and the answer before control returns. So whatever is killed
whenever, nothing that was said is lost, and nothing is recorded twice.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.chat.agent import AgentError, Request, Text, Usage
from segue.chat.background import Background
from segue.chat.decisions import find_decisions
from segue.chat.history import History
from segue.chat.tokens import best_counter
from segue.chat.window import OVERHEAD_TOKENS
from segue.clock import utc_now
from segue.errors import SegueError, UsageError
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator

    from segue.chat.agent import Agent, Piece
    from segue.chat.tokens import Counter
    from segue.chat.window import Window
    from segue.presets import Preset
    from segue.session import LiveSession

MAX_TOKENS = 100_000


class Stats(Struct, frozen=True, kw_only=True):
    """How long the conversation is, and what it cost since it was opened here."""

    turns: int
    """On the active branch."""
    tokens_in: int
    tokens_out: int
    budget: int
    window_used: int
    """What the next question carries along, the system prompt included."""
    tokens_by: str
    """Who counted what was sent and received: `provider`, `tokenizer`, `estimate`, or `mixed`; empty if nothing was."""


class _Answer(Struct, frozen=True, kw_only=True):
    place: tuple[str, int]
    """The branch, and how many turns it has before this one."""
    content: str
    tokens: int
    tokens_by: str
    model: str
    partial: bool


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
        self.found: tuple[str, ...] = ()
        """The decisions recorded of the last answer."""
        self._max_tokens = max_tokens
        self._given_counter = counter
        self._known_history: History | None = None
        self._background = Background(session, budget=max_tokens)
        self._unsaved: _Answer | None = None
        self._is_streaming = False
        self._spent = {"in": 0, "out": 0}
        self._counted_by: set[str] = set()

    @property
    def pending(self) -> Turn | None:
        """The user's turn at the end of the branch that nobody has answered, also after a crash."""
        if self._has_unsaved:
            return None
        newest = self._known_history.newest if self._known_history is not None else _newest(self.session)
        return newest if newest is not None and newest.role == "user" else None

    @property
    def unsaved(self) -> str:
        """An answer that came and could not be recorded; `save` tries again, and so does the next question."""
        return self._unsaved.content if self._unsaved is not None and self._has_unsaved else ""

    @property
    def is_streaming(self) -> bool:
        """Whether an answer is coming: while it is, there is something to stop, and nothing is being recorded."""
        return self._is_streaming

    def ask(self, text: str) -> Generator[str, None, None]:
        """Record the user's turn and give the answer as it comes; when it has come, it is recorded.

        The turn is on disk when this returns, even if nobody takes the answer. A text that is pending already is not
        recorded again. Closing the generator early records what had come, marked as partial.
        """
        if not text.strip():
            raise UsageError("there is nothing to ask", hint="type a question")
        self._check_idle()
        self.save()
        pending = self.pending
        is_recorded = pending is not None and pending.content == text
        request = self._request(None if is_recorded else text)
        self._record_preset()
        if not is_recorded:
            self.session.add("user", text, tokens=self._counter.count(text), tokens_by=self._counter.kind)
        return self._answer(request)

    def retry(self) -> Generator[str, None, None]:
        """Ask again what is pending, without recording it again; an unsaved answer is saved instead."""
        self._check_idle()
        if self._has_unsaved:
            self.save()
            return _nothing()
        if self.pending is None:
            raise UsageError("there is no question without an answer", hint="ask one")
        request = self._request()
        self._record_preset()
        return self._answer(request)

    def save(self) -> None:
        """Record the answer that could not be recorded when it came; does nothing if there is none.

        Nor if the conversation has gone on elsewhere since: an answer is never recorded behind another question.
        """
        answer = self._unsaved
        if answer is None or not self._has_unsaved:
            return
        self.session.add(
            "assistant",
            answer.content,
            tokens=answer.tokens,
            tokens_by=answer.tokens_by,
            model=answer.model,
            partial=answer.partial,
        )
        self._unsaved = None
        self._record_decisions(answer)

    def stats(self) -> Stats:
        reserved = self._counter.count(self._system)
        window = self._history.window(reserved=reserved)
        return Stats(
            turns=self.session.overview.turn_count,
            tokens_in=self._spent["in"],
            tokens_out=self._spent["out"],
            budget=self._max_tokens,
            window_used=window.tokens + reserved,
            tokens_by="mixed" if len(self._counted_by) > 1 else next(iter(self._counted_by), ""),
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
    def _counter(self) -> Counter:
        if self._given_counter is None:
            self._given_counter = best_counter()  # when first needed: a tokenizer takes a moment to load
        return self._given_counter

    @property
    def _history(self) -> History:
        if self._known_history is None:
            self._known_history = History(self.session, budget=self._max_tokens, counter=self._counter)
        return self._known_history

    @property
    def _system(self) -> str:
        return self._background.text(self.preset.system_prompt if self.preset is not None else "", self.changed)

    def _check_idle(self) -> None:
        if self._is_streaming:
            raise UsageError("an answer is still coming", hint="take all of it, or close it, before the next question")

    def _request(self, text: str | None = None) -> Request:
        """The window as it will be with this question."""
        asked: tuple[Turn, ...] = ()
        if text is not None:
            asked = (Turn(role="user", content=text, timestamp=utc_now(), tokens=None, id=""),)
        reserved = self._counter.count(self._system)
        window = self._history.window(*asked, reserved=reserved)
        self._check_size(window, reserved)
        overrides = self.session.overview.overrides
        temperature = overrides.get("temperature", self.preset.temperature if self.preset is not None else None)
        return Request(
            system=self._system,
            messages=window.messages,
            model=self.model,
            temperature=float(temperature) if isinstance(temperature, int | float) else None,
        )

    def _check_size(self, window: Window, reserved: int) -> None:
        """Refuse what cannot fit before anything is recorded or sent.

        A budget is a promise about cost, and some servers cut what is too long without a word instead of refusing it.
        """
        needed = window.tokens + reserved
        if needed <= self._max_tokens:
            return
        what, advice = "this message", "shorten it, attach the text as a file"
        if reserved > window.tokens:
            what, advice = "the system prompt", "shorten the preset, attach less"
        raise UsageError(
            f"{what} does not fit: {needed:,} tokens are needed and the budget is {self._max_tokens:,}",
            hint=f"{advice}, or raise max_tokens",
        )

    def _answer(self, request: Request) -> Generator[str, None, None]:
        return self._stream(request, self._place)

    def _stream(self, request: Request, place: tuple[str, int]) -> Generator[str, None, None]:
        self._check_idle()
        if place != self._place:
            raise UsageError("the conversation has gone on since this question", hint="ask again")
        texts: list[str] = []
        usage: Usage | None = None
        is_finished = has_failed = False
        pieces: Iterator[Piece] = iter(())
        self._is_streaming = True
        try:
            pieces = self.agent.answer(request)
            for piece in pieces:
                match piece:
                    case Usage():
                        usage = piece
                    case Text() if piece.text:
                        texts.append(piece.text)
                        yield piece.text
            if not "".join(texts).strip():
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
            try:
                if not has_failed and "".join(texts).strip():
                    self._keep("".join(texts), usage, request, partial=not is_finished)
            finally:
                _close(pieces)

    def _keep(self, content: str, usage: Usage | None, request: Request, *, partial: bool) -> None:
        counter, by = self._counter, "provider"
        tokens_in, tokens_out = (usage.input_tokens, usage.output_tokens) if usage is not None else (-1, -1)
        if tokens_in < 0 or tokens_out < 0:
            tokens_in = counter.count(request.system) + sum(
                OVERHEAD_TOKENS + counter.count(message.content) for message in request.messages
            )
            tokens_out, by = counter.count(content), counter.kind
        self._spent["in"] += tokens_in
        self._spent["out"] += tokens_out
        self._counted_by.add(by)
        model = (usage.model if usage is not None else "") or request.model or self.agent.name
        self._unsaved = _Answer(
            place=self._place, content=content, tokens=tokens_out, tokens_by=by, model=model, partial=partial
        )
        self.save()

    def _record_preset(self) -> None:
        """Say which prompt this question is asked with, where the record does not say so yet."""
        if self.preset is None:
            return
        name, now, recorded = self.preset.name, self.preset.hash, self.session.overview.preset
        if recorded is None or (recorded.name, recorded.hash) != (name, now):
            self.session.use_preset(name, hash=now)

    def _record_decisions(self, answer: _Answer) -> None:
        self.found = ()
        if not self.autorecord or answer.partial:
            return
        known = {decision.content for decision in self.session.overview.decisions}
        for content in find_decisions(answer.content):
            if content not in known:
                self.session.decide(content, source="answer")
                self.found = (*self.found, content)


def _close(pieces: Iterator[Piece]) -> None:
    """Let the agent stop its work; what fails there costs nothing that was said."""
    close = getattr(pieces, "close", None)
    if close is not None:
        with suppress(Exception):
            close()


def _newest(session: LiveSession) -> Turn | None:
    """For those who only look: neither a window nor a counter is needed."""
    return next(iter(session.tail(1)), None)


def _nothing() -> Generator[str, None, None]:
    yield from ()
