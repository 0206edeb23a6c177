"""Saves a conversation that no user is left to save: the chat is idle, its terminal was closed, or it must end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from segue import process
from segue.errors import SegueError

if TYPE_CHECKING:
    from segue.chat.conversation import Conversation
    from segue.chat.dialect import Dialect
    from segue.session import LiveSession
    from segue.surface import Terminal

_WAIT_SECONDS = 1.0


def rest(conversation: Conversation, dialect: Dialect) -> str:
    """Pause an idle session and release it: the list shows it as paused, so it can be resumed elsewhere.

    Returns the message for the user.
    """
    try:
        told = _save(conversation, dialect)
    except SegueError as error:
        return f"idle, but the pause cannot be recorded: {error}"
    conversation.session.release()
    return "\n".join(filter(None, ["idle: the session is saved and paused; your next message resumes it", told]))


def wake(session: LiveSession) -> int | None:
    """Become the writer of the session again; how many turns were added elsewhere, None if nothing has happened."""
    before = session.overview
    session.reopen(timeout_seconds=_WAIT_SECONDS)
    now = session.overview
    if session.status == "interrupted":  # by an error of the store
        session.resume()
    return None if now.seq == before.seq else now.turn_count - before.turn_count


def save_at_exit(conversation: Conversation, dialect: Dialect, terminal: Terminal) -> None:
    """Save a conversation that ends by a signal, if its dialect can, and release it; another signal waits."""
    session = conversation.session
    if not session.is_open:
        return
    told = ""
    try:
        if dialect.save is not None:
            with process.noted_signals():
                told = f"the session is saved and paused\n{_save(conversation, dialect)}"
    except Exception as error:  # noqa: BLE001 - the caller must get the signal that ends us
        told = f"the session is not paused: {error}"
    finally:
        session.release()
    with suppress(Exception):  # the terminal may be gone
        if told:
            terminal.note(told.strip())


def _save(conversation: Conversation, dialect: Dialect) -> str:
    """Save and pause a conversation as its dialect does, without a question; the message for the user."""
    conversation.save()
    if dialect.save is None or conversation.is_blank:
        conversation.session.pause()
        return ""
    return dialect.save(conversation)
