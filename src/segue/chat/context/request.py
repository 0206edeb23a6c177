"""The request to an agent: system prompt and window of the conversation, within the token budget."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from segue.chat.agent import Request
from segue.chat.context.system_prompt import SystemPrompt
from segue.chat.context.tokens import best_counter
from segue.chat.context.window import RecentTurns
from segue.clock import utc_now
from segue.errors import UsageError
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Collection

    from segue.chat.context.system_prompt import AttachmentCut
    from segue.chat.context.tokens import Counter
    from segue.chat.context.window import Window
    from segue.presets import Preset
    from segue.session import LiveSession
    from segue.tools import ToolSpec


class RequestBuilder:
    """Builds the requests of one session. Creating it reads nothing."""

    def __init__(self, session: LiveSession, *, budget: int, counter: Counter | None = None) -> None:
        self.budget = budget
        self._session = session
        self._given_counter = counter
        self._background = SystemPrompt(session, budget=budget)

    @cached_property
    def counter(self) -> Counter:
        return self._given_counter or best_counter()  # when first needed: a tokenizer takes a moment to load

    @cached_property
    def _history(self) -> RecentTurns:
        return RecentTurns(self._session, budget=self.budget, counter=self.counter)

    @property
    def newest(self) -> Turn | None:
        """The last turn; reading it needs neither a window nor a counter."""
        if "_history" in self.__dict__:
            return self._history.newest
        return next(iter(self._session.tail(1)), None)

    def used(self, preset: Preset | None, changed: Collection[str]) -> int:
        """The tokens that the next question sends along, including the system prompt."""
        reserved = self.counter.count(self._system(preset, changed))
        return self._history.window(reserved=reserved).tokens + reserved

    def cuts(self) -> tuple[AttachmentCut, ...]:
        """The attachments that are not sent whole."""
        return self._background.cuts()

    def make(
        self,
        text: str | None,
        *,
        preset: Preset | None,
        changed: Collection[str],
        model: str,
        tools: tuple[ToolSpec, ...] = (),
    ) -> tuple[Request, int]:
        """The request as it will be with this question, and how many turns it leaves out; without a question, as is."""
        asked: tuple[Turn, ...] = ()
        if text is not None:
            asked = (Turn(role="user", content=text, timestamp=utc_now(), tokens=None, id=""),)
        system = self._system(preset, changed)
        reserved = self.counter.count(system)
        window = self._history.window(*asked, reserved=reserved)
        self._check_size(window, reserved)
        overrides = self._session.overview.overrides
        temperature = overrides.get("temperature", preset.temperature if preset is not None else None)
        request = Request(
            system=system,
            messages=window.messages,
            model=model,
            temperature=float(temperature) if isinstance(temperature, int | float) else None,
            tools=tools,
        )
        return request, window.dropped

    def _system(self, preset: Preset | None, changed: Collection[str]) -> str:
        overrides = self._session.overview.overrides
        is_off = "system_message" in overrides and not overrides["system_message"]
        return self._background.text(preset.system_prompt if preset is not None and not is_off else "", changed)

    def _check_size(self, window: Window, reserved: int) -> None:
        """Refuse what cannot fit before anything is recorded or sent.

        A budget is a promise about cost, and some servers cut what is too long without a word instead of refusing it.
        """
        needed = window.tokens + reserved
        if needed <= self.budget:
            return
        what, advice = "this message", "shorten it, attach the text as a file"
        if reserved > window.tokens:
            what, advice = "the system prompt", "shorten the preset, attach less"
        raise UsageError(
            f"{what} does not fit: {needed:,} tokens are needed and the budget is {self.budget:,}",
            hint=f"{advice}, or raise max_tokens",
        )
