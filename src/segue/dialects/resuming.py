"""What the dialects share: a library that speaks their words, the way back into a session, what to ask of damage."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from segue.chat.start import find_drift, resume, show_recap
from segue.clock import utc_now
from segue.console.durations import ago
from segue.console.exit_codes import Exit
from segue.console.traces import forget
from segue.durable.kernel import storage_error
from segue.errors import DamagedError, NotFoundError, SegueError, SessionExistsError, SessionLockedError
from segue.library import Library
from segue.store import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.chat.agents.resolver import AgentResolver
    from segue.chat.conversation import Conversation
    from segue.chat.terminal.contract import Terminal
    from segue.errors import Damage
    from segue.session import LiveSession
    from segue.store import Store


class DialectLibrary(Library):
    """The sessions of a tool: errors say how to go on with its own commands, also in the middle of a conversation."""

    def __init__(self, store: Store, *, lists: str, resumes: str, clock: Callable[[], datetime] = utc_now) -> None:
        super().__init__(store, clock=clock, forget=forget)
        self.clock = clock
        self._lists = lists
        self._resumes = resumes

    def resolve(self, id: str) -> str:
        try:
            return super().resolve(id)
        except NotFoundError as error:
            raise self.reworded(error) from None

    def open(self, id: str, *, timeout_seconds: float = WAIT_SECONDS) -> LiveSession:
        try:
            return super().open(id, timeout_seconds=timeout_seconds)
        except SegueError as error:
            raise self.reworded(error) from None

    def reworded(self, error: SegueError) -> SegueError:
        """The same error, with the commands of the tool in its hint."""
        match error:
            case DamagedError():
                error.hint = f"{self._resumes} {error.session_id} asks whether to recover or to delete it"
            case SessionExistsError():
                error.hint = f"choose another id, or come back with {self._resumes} {error.session_id}"
            case NotFoundError() if error.hint.startswith("segue list"):
                error.hint = f"{self._lists} shows all"
        return error


def here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise storage_error(error, "the folder you are in", "find") from None


def resume_conversation(
    library: Library, resolver: AgentResolver, id: str, terminal: Terminal, *, agent: str = ""
) -> Conversation:
    """The conversation of a session, with all that a person should know before going on with it."""
    before = library.overview(id)
    owner = library.store.owner(before.id)
    if owner is not None:  # a person is told at once who has it, and need not wait for that
        raise SessionLockedError(before.id, pid=owner.pid, host=owner.host, since=owner.since)
    conversation = resume(library, resolver, id, agent=agent, force=True)
    try:
        show_recap(conversation.session, terminal, when=ago(before.updated_at, datetime.now(UTC)), was=before.status)
        if changed := find_drift(conversation):
            terminal.note(changed)
        if before.status == "completed":
            terminal.note(f"Resuming completed session {id}: it is active again")
    except BaseException:
        conversation.session.release()
        raise
    return conversation


def offer_recovery(
    library: Library, id: str, damages: Sequence[Damage], terminal: Terminal, *, again: str
) -> int | None:
    """Ask what becomes of a damaged session: None if it was recovered, else the code to end with.

    Whoever does not answer changes nothing. `again` is the command that asks once more.
    """
    terminal.error(str(DamagedError(id, damages)), "it can be recovered or deleted, and is untouched so far")
    if terminal.ask("Recover what can be read? The damaged file is kept beside it.", default=True) and _recover(
        library, id, terminal
    ):
        return None
    if terminal.ask("Delete it for good?", default=False):
        library.delete(id)
        terminal.note(f"Deleted session {id}")
        return Exit.DONE
    terminal.note(f"session {id} is as it was; {again} asks again")
    return Exit.DAMAGED


def _recover(library: Library, id: str, terminal: Terminal) -> bool:
    try:
        recovery = library.recover(id)
    except DamagedError:
        terminal.error("nothing of it can be read", "it can only be deleted")
        return False
    count = sum(branch.own for branch in recovery.session.branches.values())
    turns = "1 turn is" if count == 1 else f"{count} turns are"
    terminal.note(f"{turns} recovered; the damaged file is {recovery.original}")
    return True
