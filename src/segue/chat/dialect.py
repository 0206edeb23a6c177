"""How one of the tools speaks: its prompt, its farewell, what leaving means there, which commands it adds or hides."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from segue.chat.commands.table import Command
from segue.chat.conversation import Conversation
from segue.errors import SegueError
from segue.model import Status


class Dialect(Struct, frozen=True, kw_only=True):
    """Over the same engine. The texts may name `{agent}`, `{id}`, `{store}`, `{turns}` and `{resume}`."""

    name: str
    """Of the command that people type: `segue`, `aur`, `soleur`."""
    prompt: str = "{agent}> "
    greeting: str = "session {id} · /help lists the commands, /exit leaves"
    """Shown to a person when the conversation begins; empty for none."""
    resume: str = "segue resume {id}"
    """The literal command that comes back to this session."""
    farewell: str = "session {id} is saved in {store}\nresume it with: {resume}"
    exit_status: Status = "paused"
    """What leaving by /exit, Ctrl-D or the end of input records."""
    settle: Callable[[Conversation, Status], None] = lambda _conversation, _status: None
    """What leaving takes beyond the record of it: told the conversation, still open, and the status it leaves with."""
    idle_seconds: float = 300
    """After so long without a key at the prompt the session is recorded as paused; 0 for never."""
    keeps_blank: bool = False
    """Whether a new session stays in which nothing was said or recorded."""
    autorecord: bool = False
    """Whether decisions found in answers are recorded, unless a person says otherwise."""
    offers: tuple[str, ...] = ()
    """Files of the folder at hand that are offered as context to a new session."""
    extra: tuple[Command, ...] = ()
    """Commands of its own; one of a known name takes its place."""
    hidden: tuple[str, ...] = ()
    """Names of commands it does without."""
    hint_for: Callable[[SegueError], str] = lambda error: error.hint
    """What to do after an error, in terms of its commands."""


SEGUE = Dialect(name="segue")
