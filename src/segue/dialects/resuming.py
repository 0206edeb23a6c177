"""What the dialects share: resuming a conversation, and recovering a damaged session."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from segue.chat.lifecycle import find_drift, resume, show_recap
from segue.console.durations import ago
from segue.console.exit_codes import Exit
from segue.durable.kernel import storage_error
from segue.errors import DamagedError, SessionLockedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.chat.agents.resolver import AgentResolver
    from segue.chat.conversation import Conversation
    from segue.errors import Damage
    from segue.library import Library
    from segue.surface import Terminal


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
