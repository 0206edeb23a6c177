"""The screen of the picker: an input line, the sessions that match it, and a preview of the selected one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from segue.cli.picker import rendering
from segue.cli.picker.dialogs import ConfirmDialog, TextDialog
from segue.cli.picker.model import SHOWN, merge_matches
from segue.console.error_messages import SEGUE_HINTS
from segue.errors import SegueError
from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.worker import Worker

    from segue.cli.picker.model import PickerMatch, PickerModel
    from segue.index import IndexEntry

_KEYS = "enter resume  esc quit  tab read  ^n new  ^f fork  ^r rename  ^t tag  ^d delete  ^y copy command"
"""All but the last fit in 80 columns."""
_READING_KEYS = "esc back to the list  up, down scroll  enter resume"


class PickerScreen(Screen[None]):
    """Shows what the index has at once, refreshes it in the background, and keeps the selected session selected."""

    DEFAULT_CSS = """
    PickerScreen {
        layout: vertical;
        #query { height: 1; margin: 0 1; }
        #state, #keys { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        #keys { padding: 0; }
        #notice { height: auto; max-height: 3; padding: 0 1; display: none; }
        #notice.-error { color: $text-error; }
        #middle { height: 1fr; }
        #sessions {
            width: 1fr; height: 1fr; max-height: 100%; border: none; padding: 0; background: $background;
            scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        #preview { width: 1fr; height: 1fr; padding: 0 0 0 1; border-left: solid $panel; }
        #preview:focus-within { border-left: solid $primary; }
        #summary { height: auto; max-height: 50%; margin-bottom: 1; }
        #turns { scrollbar-size-vertical: 1; }
        &.-narrow #middle { layout: vertical; }
        &.-narrow #sessions, &.-narrow #preview { width: 100%; }
        &.-narrow #preview { border-left: none; border-top: solid $panel; }
        &.-narrow #preview:focus-within { border-top: solid $primary; }
        &.-narrow.-low #preview { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose"),
        Binding("ctrl+n", "start_chat", priority=True),
        Binding("ctrl+f", "fork", priority=True),
        Binding("ctrl+r", "rename", priority=True),
        Binding("ctrl+t", "tag", priority=True),
        Binding("ctrl+d", "delete", priority=True),
        Binding("ctrl+y", "copy", priority=True),
        Binding("escape", "back"),
        Binding("ctrl+c", "app.quit", priority=True),
        Binding("up", "move(-1)"),
        Binding("down", "move(1)"),
        Binding("pageup", "move(-8)"),
        Binding("pagedown", "move(8)"),
    ]

    class SessionChosen(Message):
        """The user wants to resume this session."""

        def __init__(self, entry: IndexEntry) -> None:
            super().__init__()
            self.entry = entry

    class ChatRequested(Message):
        """The user wants a new conversation."""

    class CommandRequested(Message):
        """The user wants to copy the command that resumes this session."""

        def __init__(self, entry: IndexEntry) -> None:
            super().__init__()
            self.entry = entry

    def __init__(self, model: PickerModel, *, text: str = "") -> None:
        super().__init__()
        self._model = model
        self._text = text
        self._matches: list[PickerMatch] = []
        self._progress = ""
        self._is_query_new = True
        """Whether the query has changed since the last search: then the best match is selected."""

    def compose(self) -> ComposeResult:
        yield Input(self._text, placeholder="Type to find a session", id="query", compact=True, select_on_focus=False)
        yield Static(id="state")
        with Horizontal(id="middle"):
            sessions = OptionList(id="sessions", markup=False)
            sessions.can_focus = False
            yield sessions
            with Vertical(id="preview"):
                yield Static(id="summary")
                with VerticalScroll(id="turns"):
                    yield Static(id="text")
        yield Static(id="notice", markup=False)
        yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one("#query").focus()
        if self._model.can_share:
            self._find()
            self._refresh_index()
        else:
            self._model.refresh(with_text=True)
            self._find()

    def on_descendant_focus(self) -> None:
        self.query_one("#keys", Static).update(_KEYS if self._is_typing else _READING_KEYS)

    @property
    def _is_typing(self) -> bool:
        """Whether keys go to the input line, and not to the preview, which the user reads."""
        return self.focused is self.query_one(Input)

    def show_notice(self, message: str, *, is_error: bool = False) -> None:
        """Show a message in a line of its own, where it covers no question, until the next message or text."""
        notice = self.query_one("#notice", Static)
        notice.update(Content(one_line(message)))
        notice.display = bool(message)
        notice.set_class(is_error, "-error")

    # ── Finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_input_changed(self) -> None:
        self._is_query_new = True
        self.show_notice("")
        self._find()

    def _find(self) -> None:
        """Show matches by name at once, and matches in the text, which take longer, when they are found."""
        text = self.query_one(Input).value
        try:
            by_name = self._model.find_by_name(text)
        except SegueError as error:
            self._show_state(str(error))
            return
        if not text.strip():
            self.workers.cancel_group(self, "search")
            self._show(by_name)
            self._is_query_new = False
        elif not self._model.can_share:
            self._show(merge_matches(by_name, self._model.find_by_text(text)))
        else:
            if by_name:
                self._show(by_name)
            self._search(text, by_name)

    @work(thread=True, exclusive=True, group="search")
    def _search(self, text: str, by_name: list[PickerMatch]) -> None:
        worker = get_current_worker()
        try:
            by_text = self._model.find_by_text(text)
        except SegueError:
            return  # the refresh repairs the index and then searches again
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, merge_matches(by_name, by_text))
            self._is_query_new = False

    @work(thread=True, group="refresh")
    def _refresh_index(self) -> None:
        worker = get_current_worker()
        failures = ""
        try:
            for with_text in (False, True):  # names are indexed sooner than the text
                messages = self._model.refresh(
                    with_text=with_text, notify=lambda count: self._show_progress(worker, count)
                )
                failures = "; ".join(messages)
                self.app.call_from_thread(self._find)
        except _StoppedError:
            return
        except SegueError as error:
            failures = str(error)
        self.app.call_from_thread(self._show_state, failures)

    def _show_progress(self, worker: Worker[None], count: int) -> None:
        if worker.is_cancelled:
            raise _StoppedError
        self.app.call_from_thread(self._show_state, f"indexing new sessions: {count:,}")

    def _show(self, matches: list[PickerMatch]) -> None:
        """Replace the list; the selected session stays selected, unless the query is new."""
        before, sessions = None if self._is_query_new else self._selected, self.query_one(OptionList)
        now = datetime.now(UTC)
        self._matches = matches
        sessions.clear_options()
        sessions.add_options([Option(rendering.render_row(match, now)) for match in matches])
        if matches:
            positions = {match.key: at for at, match in enumerate(matches)}
            sessions.highlighted = positions.get(before.key, 0) if before is not None else 0
        self._show_state(self._progress)
        self._preview()

    def _show_state(self, progress: str) -> None:
        self._progress = progress
        count = f"{SHOWN} or more sessions" if len(self._matches) >= SHOWN else f"{len(self._matches)} sessions"
        text = f"{count if len(self._matches) != 1 else '1 session'}{f' · {progress}' if progress else ''}"
        self.query_one("#state", Static).update(Content(one_line(text)))

    def on_option_list_option_highlighted(self) -> None:
        self._preview()

    def _preview(self) -> None:
        match = self._selected
        summary, turns = Content(""), Content("")
        if match is not None:
            summary = rendering.render_summary(match, datetime.now(UTC))
            try:
                turns = rendering.render_turns(self._model.turns(match), match)
            except SegueError as error:
                turns = Content.styled(one_line(str(error)), "$text-error")
        self.query_one("#summary", Static).update(summary)
        self.query_one("#text", Static).update(turns)
        scroll = self.query_one("#turns")
        if match is not None and match.hit is not None and match.hit.is_in_turn:
            scroll.scroll_home(animate=False)
        else:
            scroll.scroll_end(animate=False)  # where it stopped

    @property
    def _selected(self) -> PickerMatch | None:
        at = self.query_one(OptionList).highlighted
        return self._matches[at] if at is not None and at < len(self._matches) else None

    # ── Actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_input_submitted(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        if (match := self._selected) is not None:
            self.post_message(self.SessionChosen(match.entry))

    def action_start_chat(self) -> None:
        self.post_message(self.ChatRequested())

    def action_copy(self) -> None:
        if (match := self._selected) is not None:
            self.post_message(self.CommandRequested(match.entry))

    def action_move(self, by: int) -> None:
        sessions = self.query_one(OptionList)
        if self._matches and self._is_typing:
            self._is_query_new = False
            sessions.highlighted = min(max((sessions.highlighted or 0) + by, 0), len(self._matches) - 1)

    def action_back(self) -> None:
        """Go one step back: from the preview to the input, then clear the input, then quit."""
        query = self.query_one(Input)
        if not self._is_typing:
            query.focus()
        elif query.value:
            query.value = ""
        else:
            self.app.exit()

    @work
    async def action_fork(self) -> None:
        if (match := self._selected) is not None:
            name = await self.app.push_screen_wait(TextDialog("Name of the new branch (empty for a generated one):"))
            if name is not None:
                self._change(lambda: self._model.fork(match.entry, name))

    @work
    async def action_rename(self) -> None:
        if (match := self._selected) is not None:
            title = await self.app.push_screen_wait(TextDialog("New title:", value=match.entry.title))
            if title:
                self._change(lambda: self._model.rename(match.entry, title))

    @work
    async def action_tag(self) -> None:
        if (match := self._selected) is not None:
            current = f" (now: {', '.join(match.entry.tags)})" if match.entry.tags else ""
            tags = await self.app.push_screen_wait(TextDialog(f"Tags to add; -tag removes one{current}:"))
            if tags:
                self._change(lambda: self._model.tag(match.entry, tags))

    @work
    async def action_delete(self) -> None:
        if (match := self._selected) is not None:
            name = f"{match.entry.id} {match.entry.title}".strip()
            try:
                question = "Move {} to the trash?" if self._model.has_trash(match.entry) else "Delete {} for good?"
            except SegueError as error:  # it belongs to an AI tool
                self.show_notice(SEGUE_HINTS.describe(error), is_error=True)
                return
            if await self.app.push_screen_wait(ConfirmDialog(question.format(name))):
                self._change(lambda: self._model.delete(match.entry))

    def _change(self, change: Callable[[], str]) -> None:
        try:
            self.show_notice(change())
        except SegueError as error:
            self.show_notice(SEGUE_HINTS.describe(error), is_error=True)
        self._find()


class _StoppedError(Exception):
    """The picker has closed while the index was being refreshed."""
