"""The input line: keys, history, completion, and the status below it."""

from __future__ import annotations

import asyncio
import os
import termios
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from segue.chat.terminal.input_history import InputHistory
from segue.chat.terminal.script import continues
from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.key_binding.key_processor import KeyPress

    from segue.surface import Idle, Suggestion


class PromptHistory(History):
    """The history of the arrow keys, in a file that records the session of each line."""

    def __init__(self, file: InputHistory) -> None:
        super().__init__()
        self._file = file
        self.session = ""
        """The current session."""

    def load_history_strings(self) -> Iterable[str]:
        """Newest first, as prompt_toolkit wants them."""
        return self._file.texts()

    def store_string(self, string: str) -> None:
        self._file.add(string, self.session)


_STYLE = Style.from_dict({"prompt": "bold", "bottom-toolbar": "noreverse fg:ansibrightblack"})
_AGAIN = "Ctrl-C once more leaves"


class Prompt:
    """Reads the input: Enter sends, a backslash before it or Alt-Enter continues on the next line."""

    def __init__(
        self,
        history: Path | None,
        suggest: Callable[[str], Iterable[Suggestion]],
        *,
        note: Callable[[str], None],
        is_plain: bool = False,
    ) -> None:
        self._note = note
        self._typed = PromptHistory(InputHistory(history)) if history is not None else None
        self._status = ""
        self._touched = asyncio.Event()
        self._is_leaving = False  # Ctrl-C was the last key, and there is nothing left to clear
        self._session: PromptSession[str | None] = PromptSession(
            multiline=True,
            key_bindings=self._keys(),
            history=self._typed or InMemoryHistory(),
            completer=_Suggesting(suggest),
            complete_while_typing=Condition(_is_command),
            complete_in_thread=True,
            bottom_toolbar=self._toolbar,
            prompt_continuation="… ",
            enable_suspend=True,
            style=_STYLE,
            color_depth=ColorDepth.DEPTH_1_BIT if is_plain else None,
            reserve_space_for_menu=5,
        )
        self._session.default_buffer.on_text_changed += self._on_change
        self._session.default_buffer.on_cursor_position_changed += self._on_touch

    def read(self, prompt: str, status: str, idle: Idle | None = None, *, session: str = "") -> str | None:
        """The text, or None if the user leaves: with Ctrl-D, or with Ctrl-C twice."""
        if self._typed is not None:
            self._typed.session = session
        self._status = status
        self._is_leaving = False
        try:
            return asyncio.run(self._read(prompt, idle))
        except EOFError:
            return None

    async def _read(self, prompt: str, idle: Idle | None) -> str | None:
        self._touched = asyncio.Event()  # of the current loop
        watch = asyncio.ensure_future(self._watch(prompt, idle)) if idle is not None else None
        try:
            return await self._session.prompt_async(FormattedText([("class:prompt", prompt)]))
        finally:
            if watch is not None:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch

    async def _watch(self, prompt: str, idle: Idle) -> None:
        """Wait until nothing was typed for this time, then act, and show the message above the line."""
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(idle.seconds):  # wait_for can lose a cancellation that comes with a key
                    await self._touched.wait()
                self._touched.clear()
        told = idle.act()
        if not is_dumb_terminal():
            await run_in_terminal(lambda: self._note(told))
            return
        self._session.output.write("\n")  # nothing can be drawn above: the line starts again below
        self._session.output.flush()
        self._note(told)
        self._session.output.write(prompt + self._session.default_buffer.text)
        self._session.output.flush()

    def _toolbar(self) -> str:
        return _AGAIN if self._is_leaving else self._status

    def _on_change(self, _: Buffer) -> None:
        self._is_leaving = False
        self._on_touch(_)

    def _on_touch(self, _: Buffer) -> None:
        self._touched.set()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        is_typing = has_focus(DEFAULT_BUFFER)  # and not searching with Ctrl-R

        @keys.add("enter", filter=is_typing)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if continues(buffer.document.text) and buffer.document.is_cursor_at_the_end:
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            else:
                buffer.validate_and_handle()

        @keys.add("escape", "enter", filter=is_typing)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c", filter=is_typing)
        @keys.add(Keys.SIGINT, filter=is_typing)
        def _(event: KeyPressEvent) -> None:
            buffer = event.app.current_buffer
            if self._is_leaving:
                event.app.exit(result=None)
                return
            buffer.save_to_undo_stack()  # so that Ctrl-_ brings back what was cleared by mistake
            buffer.text = ""
            self._is_leaving = True

        return keys


def read_answer(question: str) -> str | None:
    """A line without history and completion; None for Ctrl-C and Ctrl-D."""
    try:
        return PromptSession[str](history=InMemoryHistory()).prompt(question)
    except (EOFError, KeyboardInterrupt):
        return None


def _is_command() -> bool:
    return get_app().current_buffer.text.startswith("/")


class _Suggesting(Completer):
    def __init__(self, suggest: Callable[[str], Iterable[Suggestion]]) -> None:
        self._suggest = suggest

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        del complete_event
        for one in self._suggest(document.text_before_cursor):
            yield Completion(
                one.text, start_position=-one.replaces, display=one_line(one.text), display_meta=one_line(one.about)
            )


_LOCAL, _CONTROL = 3, 6  # where termios keeps these
_CHUNK_BYTES = 4096


class Typeahead:
    """Text typed ahead at one terminal: set aside before a question, and given back to the next prompt."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._keys: list[KeyPress] = []

    def take(self) -> None:
        """Set aside all that was typed so far, in the terminal and in our own buffers."""
        self._keys += get_typeahead(get_app_session().input)
        parser = Vt100Parser(self._keys.append)
        parser.feed(_drain(self._descriptor).decode("utf-8", "replace"))
        parser.flush()

    def give_back(self) -> None:
        if self._keys:
            keys, self._keys = self._keys, []
            store_typeahead(get_app_session().input, get_typeahead(get_app_session().input) + keys)


def _drain(descriptor: int) -> bytes:
    """All input that waits in the terminal, also of an unfinished line."""
    before = termios.tcgetattr(descriptor)
    at_once = [*before]
    at_once[_LOCAL] &= ~termios.ICANON
    at_once[_CONTROL] = [*before[_CONTROL]]
    at_once[_CONTROL][termios.VMIN] = at_once[_CONTROL][termios.VTIME] = 0
    termios.tcsetattr(descriptor, termios.TCSANOW, at_once)
    found = b""
    try:
        while piece := os.read(descriptor, _CHUNK_BYTES):
            found += piece
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
    termios.tcflush(descriptor, termios.TCIFLUSH)
    return found.replace(b"\n", b"\r")  # as Enter comes where nothing turns it into a line feed
