"""The screen of the picker: a line to type on, the sessions that match it, and what the one at hand says."""

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
from segue.cli.picker.picker_model import SHOWN, merged
from segue.console.error_messages import SEGUE_HINTS
from segue.errors import SegueError
from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.worker import Worker

    from segue.cli.picker.picker_model import Found, PickerModel
    from segue.index import IndexEntry

_KEYS = "enter resume · ^n new · ^f fork · ^r rename · ^t tag · ^d delete · ^y copy command · tab read · esc leave"


class PickerScreen(Screen[None]):
    """Shows at once what the index knows, follows the sources behind that, and keeps the session at hand in place."""

    DEFAULT_CSS = """
    Finding {
        layout: vertical;
        #words { height: 1; margin: 0 1; }
        #state, #keys { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        #middle { height: 1fr; }
        #sessions {
            width: 1fr; height: 1fr; max-height: 100%; border: none; padding: 0; background: $background;
            scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        #preview { width: 1fr; height: 1fr; padding: 0 0 0 1; border-left: solid $panel; }
        #preview:focus-within { border-left: solid $primary; }
        #about { height: auto; max-height: 50%; margin-bottom: 1; }
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
        Binding("ctrl+n", "begin", priority=True),
        Binding("ctrl+f", "fork", priority=True),
        Binding("ctrl+r", "rename", priority=True),
        Binding("ctrl+t", "tag", priority=True),
        Binding("ctrl+d", "delete", priority=True),
        Binding("ctrl+y", "copy", priority=True),
        Binding("escape", "leave"),
        Binding("ctrl+c", "app.quit", priority=True),
        Binding("up", "move(-1)"),
        Binding("down", "move(1)"),
        Binding("pageup", "move(-8)"),
        Binding("pagedown", "move(8)"),
    ]

    class Chosen(Message):
        """Go on with this session."""

        def __init__(self, entry: IndexEntry) -> None:
            super().__init__()
            self.entry = entry

    class Begun(Message):
        """Start another one."""

    class Copied(Message):
        """The command that comes back to this session is wanted."""

        def __init__(self, entry: IndexEntry) -> None:
            super().__init__()
            self.entry = entry

    def __init__(self, desk: PickerModel, *, words: str = "") -> None:
        super().__init__()
        self._desk = desk
        self._words = words
        self._found: list[Found] = []
        self._following = ""
        self._is_typed = True
        """Whether the words have changed since the sessions were found: then the best of them is at hand."""

    def compose(self) -> ComposeResult:
        yield Input(self._words, placeholder="Type to find a session", id="words", compact=True, select_on_focus=False)
        yield Static(id="state")
        with Horizontal(id="middle"):
            sessions = OptionList(id="sessions", markup=False)
            sessions.can_focus = False
            yield sessions
            with Vertical(id="preview"):
                yield Static(id="about")
                with VerticalScroll(id="turns"):
                    yield Static(id="said")
        yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one("#words").focus()
        if self._desk.can_share:
            self._find()
            self._follow()
        else:
            self._desk.follow(words=True)
            self._find()

    # ── Finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_input_changed(self) -> None:
        self._is_typed = True
        self._find()

    def _find(self) -> None:
        """By name at once; by what was said, which takes longer, when that is known."""
        text = self.query_one(Input).value
        try:
            named = self._desk.named(text)
        except SegueError as error:
            self._say(str(error))
            return
        if not text.strip():
            self.workers.cancel_group(self, "said")
            self._show(named)
            self._is_typed = False
        elif not self._desk.can_share:
            self._show(merged(named, self._desk.said(text)))
        else:
            if named:
                self._show(named)
            self._search(text, named)

    @work(thread=True, exclusive=True, group="said")
    def _search(self, text: str, named: list[Found]) -> None:
        worker = get_current_worker()
        try:
            said = self._desk.said(text)
        except SegueError:
            return  # whoever follows the sources makes the index good, and then asks again
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, merged(named, said))
            self._is_typed = False

    @work(thread=True, group="follow")
    def _follow(self) -> None:
        worker = get_current_worker()
        said = ""
        try:
            for words in (False, True):  # a listing is there sooner than what was said
                said = "; ".join(self._desk.follow(words=words, notify=lambda count: self._notify(worker, count)))
                self.app.call_from_thread(self._find)
        except _StoppedError:
            return
        except SegueError as error:
            said = str(error)
        self.app.call_from_thread(self._say, said)

    def _notify(self, worker: Worker[None], count: int) -> None:
        if worker.is_cancelled:
            raise _StoppedError
        self.app.call_from_thread(self._say, f"reading what is new: {count:,} sessions")

    def _show(self, found: list[Found]) -> None:
        """The session at hand stays at hand, wherever it is in the list now, unless other words were typed."""
        before, sessions = None if self._is_typed else self._at_hand, self.query_one(OptionList)
        now = datetime.now(UTC)
        self._found = found
        sessions.clear_options()
        sessions.add_options([Option(rendering.row(one, now)) for one in found])
        if found:
            places = {one.key: at for at, one in enumerate(found)}
            sessions.highlighted = places.get(before.key, 0) if before is not None else 0
        self._say(self._following)
        self._preview()

    def _say(self, following: str) -> None:
        self._following = following
        count = f"{SHOWN} or more sessions" if len(self._found) >= SHOWN else f"{len(self._found)} sessions"
        text = f"{count if len(self._found) != 1 else '1 session'}{f' · {following}' if following else ''}"
        self.query_one("#state", Static).update(Content(one_line(text)))

    def on_option_list_option_highlighted(self) -> None:
        self._preview()

    def _preview(self) -> None:
        found = self._at_hand
        about, turns = Content(""), Content("")
        if found is not None:
            about = rendering.about(found, datetime.now(UTC))
            try:
                turns = rendering.turns(self._desk.turns(found), found)
            except SegueError as error:
                turns = Content.styled(one_line(str(error)), "$text-error")
        self.query_one("#about", Static).update(about)
        self.query_one("#said", Static).update(turns)
        scroll = self.query_one("#turns")
        if found is not None and found.hit is not None and found.hit.kind == "turn":
            scroll.scroll_home(animate=False)
        else:
            scroll.scroll_end(animate=False)  # where it stopped

    @property
    def _at_hand(self) -> Found | None:
        at = self.query_one(OptionList).highlighted
        return self._found[at] if at is not None and at < len(self._found) else None

    # ── What the keys do ─────────────────────────────────────────────────────────────────────────────────────────────

    def on_input_submitted(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        if (found := self._at_hand) is not None:
            self.post_message(self.Chosen(found.entry))

    def action_begin(self) -> None:
        self.post_message(self.Begun())

    def action_copy(self) -> None:
        if (found := self._at_hand) is not None:
            self.post_message(self.Copied(found.entry))

    def action_move(self, by: int) -> None:
        sessions = self.query_one(OptionList)
        if self._found:
            self._is_typed = False
            sessions.highlighted = min(max((sessions.highlighted or 0) + by, 0), len(self._found) - 1)

    def action_leave(self) -> None:
        """One step back: from the preview to the words, from the words to none, from none to the shell."""
        words = self.query_one(Input)
        if self.focused is not words:
            words.focus()
        elif words.value:
            words.value = ""
        else:
            self.app.exit()

    @work
    async def action_fork(self) -> None:
        if (found := self._at_hand) is not None:
            name = await self.app.push_screen_wait(TextDialog("Fork here. Name of the branch (Enter makes one):"))
            if name is not None:
                self._change(lambda: self._desk.fork(found.entry, name))

    @work
    async def action_rename(self) -> None:
        if (found := self._at_hand) is not None:
            title = await self.app.push_screen_wait(TextDialog("Another title:", value=found.entry.title))
            if title:
                self._change(lambda: self._desk.rename(found.entry, title))

    @work
    async def action_tag(self) -> None:
        if (found := self._at_hand) is not None:
            has = f" (it has {', '.join(found.entry.tags)})" if found.entry.tags else ""
            words = await self.app.push_screen_wait(TextDialog(f"Tags to add; -tag removes one{has}:"))
            if words:
                self._change(lambda: self._desk.tag(found.entry, words))

    @work
    async def action_delete(self) -> None:
        if (found := self._at_hand) is not None:
            name = f"{found.entry.id} {found.entry.title}".strip()
            try:
                how = "Move {} to the trash?" if self._desk.has_trash(found.entry) else "Delete {} for good?"
            except SegueError as error:  # a tool keeps it
                self.notify(one_line(SEGUE_HINTS.describe(error)), severity="error", markup=False)
                return
            if await self.app.push_screen_wait(ConfirmDialog(how.format(name))):
                self._change(lambda: self._desk.delete(found.entry))

    def _change(self, change: Callable[[], str]) -> None:
        try:
            self.notify(one_line(change()), markup=False)
        except SegueError as error:
            self.notify(one_line(SEGUE_HINTS.describe(error)), severity="error", markup=False)
        self._find()


class _StoppedError(Exception):
    """The picker has closed, and nobody waits for the rest."""
