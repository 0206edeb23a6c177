"""Runs the tool calls of an answer until it calls no more, and shows each call once."""

from __future__ import annotations

from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING

from segue.tools.recorded_calls import format_call, format_result

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from contextlib import AbstractContextManager

    from segue.chat.conversation import Conversation
    from segue.tools import ToolCall


def run_tool_loop(
    conversation: Conversation,
    pieces: Generator[str, None, None],
    *,
    show: Callable[[Iterable[str]], None],
    notify: Callable[[str], None],
    busy: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> None:
    """Show an answer as it streams, perform the tool calls in it, and continue until it calls no more tools.

    `busy` is shown while a tool runs.
    """
    while True:
        with closing(pieces):
            show(pieces)
        if not conversation.calls:
            return
        for call in conversation.calls:
            _perform(conversation, call, notify, busy)
        pieces = conversation.continue_answer()


def _perform(
    conversation: Conversation,
    call: ToolCall,
    notify: Callable[[str], None],
    busy: Callable[[str], AbstractContextManager[None]],
) -> None:
    is_announced = False

    def announce() -> None:
        nonlocal is_announced
        if not is_announced and not conversation.was_shown(call):
            notify(format_call(call))
        is_announced = True

    @contextmanager
    def running() -> Iterator[None]:
        announce()
        with busy(f"running {call.name}"):
            yield

    result = conversation.perform(call, running=running)
    announce()
    notify(f"  {format_result(result)}")
