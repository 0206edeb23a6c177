"""What differs between our commands in a chat: prompt, farewell, status on leaving, commands added or hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.chat.commands.table import Command
from segue.chat.conversation import Conversation
from segue.chat.session_finder import LibrarySessions, SessionFinder
from segue.errors import SegueError
from segue.model import JsonObject, Overview, Status
from segue.session import LiveSession

if TYPE_CHECKING:
    from segue.chat.repl import Chat  # noqa: TC004 - a circle, and never read at run time
    from segue.index import IndexEntry  # noqa: TC004 - never read at run time
    from segue.library import Library  # noqa: TC004 - never read at run time


def create_session(chat: Chat, like: Overview, title: str, extra: JsonObject) -> LiveSession:
    """A new session of the current library with the agent of another one."""
    return chat.library.create(agent=like.agent, title=title, extra=extra)


class Dialect(Struct, frozen=True, kw_only=True):
    """The chat of one command. Its texts may contain `{agent}`, `{id}`, `{store}`, `{turns}` and `{resume}`."""

    name: str
    """The name of the command: `segue`, `aur`, `soleur`."""
    prompt: str = "{agent}> "
    greeting: str = "session {id} · /help lists the commands, /exit leaves"
    """Shown at a terminal when the conversation starts; empty for none."""
    resume: str = "segue resume {id}"
    """The literal command that resumes this session."""
    farewell: str = "session {id} is saved in {store}\nresume with: {resume}"
    exit_status: Status = "paused"
    """The status that /exit, Ctrl-D and the end of input record."""
    create: Callable[[Chat, Overview, str, JsonObject], LiveSession] = create_session
    """Makes a session for /new and for copies: like this one, with this title and these fields."""
    finder: Callable[[Library], SessionFinder] = LibrarySessions
    """Finds the sessions of /list and /resume, given the current library."""
    listed: Callable[[Sequence[IndexEntry]], None] = lambda _entries: None
    """Called with the lines of a list that was shown."""
    entered: Callable[[str, str], None] = lambda _store, _id: None
    """Called with the URL of the store and the id when the chat continues in another session."""
    settle: Callable[[Conversation, Status], None] = lambda _conversation, _status: None
    """Called before leaving, with the conversation, which is still open, and its new status."""
    save: Callable[[Conversation], str] | None = None
    """Saves and pauses a conversation without a user: when idle, on SIGTERM, when the terminal closes.

    It must not ask a model or take long. Returns the message for the user. Without it, an idle session is only paused,
    and one that is ended by a signal reads as interrupted.
    """
    idle_seconds: float = 300
    """After this time without a key at the prompt, the session is paused; 0 for never."""
    keeps_blank: bool = False
    """Whether a new session without any content is saved."""
    autorecord: bool = False
    """Whether decisions found in answers are recorded, unless the user turns it off."""
    offers: tuple[str, ...] = ()
    """Files of the current folder that are offered as context to a new session."""
    extra: tuple[Command, ...] = ()
    """Its own commands; one with a known name replaces that command."""
    hidden: tuple[str, ...] = ()
    """Names of the commands that it does not have."""
    hint_for: Callable[[SegueError], str] = lambda error: error.hint
    """What to do after an error, in terms of its commands."""


SEGUE = Dialect(name="segue")
