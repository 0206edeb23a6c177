"""The resume flow that `segue resume` and the dialects share.

A command finds the session, and then calls, in this order: `check_resumable`, which asks the user where that is
needed, `resume_conversation`, and `segue.chat.lifecycle.run`. Between the first two it may take another way, for
example resume in an AI tool.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from segue.console import output
from segue.console.durations import ago
from segue.console.exit_codes import Exit
from segue.errors import AmbiguousIdError, DamagedError, InvalidIdError, NotFoundError, SessionLockedError
from segue.ids import match_named, short_ids
from segue.library_results import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from segue.chat.agents.resolver import AgentResolver
    from segue.chat.conversation import Conversation
    from segue.errors import Damage
    from segue.library import Library
    from segue.model import Head, Overview
    from segue.session import LiveSession
    from segue.surface import Terminal

_LISTED = 10


def find_named(library: Library, text: str) -> str:
    """The id of the one session that the text means: an id, a part of it, or words of its title.

    If several match, the user chooses; without a terminal they are listed in an AmbiguousIdError.
    """
    try:
        return library.resolve(text)
    except InvalidIdError:
        if " " not in text:
            raise
        missing: NotFoundError | None = None
    except AmbiguousIdError:
        missing = None
    except NotFoundError as error:
        missing = error
    found = match_named(text, library.list(), names_of)
    if not found:
        raise missing or NotFoundError(f"no session matches {text!r:.60} in {library.store.url}")
    return found[0].id if len(found) == 1 else _choose(text, found)


def _choose(text: str, found: Sequence[Head]) -> str:
    short = short_ids([head.id for head in found])
    labels = [f"{short[head.id]} ({head.title})" if head.title else short[head.id] for head in found]
    if not output.stdin_is_tty():
        raise AmbiguousIdError(text, [head.id for head in found], labels=labels)
    if (chosen := output.choose(labels[:_LISTED])) is None:
        raise click.exceptions.Exit(Exit.DECLINED)
    return found[chosen].id


def check_resumable(
    library: Library, id: str, terminal: Terminal, *, called: str = "", recovery: str = "", reopen: bool = False
) -> Overview | Exit:
    """The session as it is before it is resumed, or the code to exit with if it is not resumed.

    Raises SessionLockedError, before any question, if another process is writing to it. Where `recovery` is the command
    that offers recovery, a damaged session is offered for recovery. A completed session is reopened if the user agrees,
    or if `reopen` is set. `called` is how the question names it.
    """
    check_unlocked(library, id)
    if recovery and (damages := library.verify(id).damages):
        code = offer_recovery(library, id, damages, terminal, again=recovery)
        if code is not None:
            return code
    before = library.overview(id)
    if before.status == "completed" and not reopen and not confirm_completed(terminal, called or f"session {id}"):
        return Exit.DECLINED
    return before


def check_unlocked(library: Library, id: str) -> None:
    """Raises SessionLockedError if another process is writing to the session."""
    if (owner := library.store.owner(id)) is not None:
        raise SessionLockedError(id, pid=owner.pid, host=owner.host, since=owner.since)


def confirm_completed(terminal: Terminal, called: str) -> bool:
    """Ask whether to resume a completed session, which the question calls `called`."""
    terminal.note(f"{called} was marked complete")
    if terminal.ask("Resume it anyway?", default=False):
        return True
    terminal.note("it stays completed; --yes resumes it without a question")
    return False


def resume_conversation(
    library: Library,
    resolver: AgentResolver,
    before: Overview,
    *,
    agent: str = "",
    model: str = "",
    heading: str = "",
    changes: Callable[[Conversation], Sequence[str]] | None = None,
) -> Conversation:
    """Resume the session that was checked, and show its last turns, where it stopped, and what has changed since.

    `heading` is printed first. `changes` finds what differs from the last time; without it, the prompt is compared.
    """
    from segue.chat.lifecycle import resume, show_recap  # a command that only checks needs no chat

    terminal, is_completed = resolver.surface.terminal, before.status == "completed"
    conversation = resume(library, resolver, before.id, agent=agent, model=model, force=is_completed)
    with release_on_failure(conversation.session):
        if heading:
            terminal.say(heading)
        show_recap(conversation.session, terminal, when=ago(before.updated_at, datetime.now(UTC)), was=before.status)
        for change in (changes or _prompt_changes)(conversation):
            terminal.note(change)
        if is_completed:
            terminal.note(f"Resuming completed session {before.id}: it is active again")
    return conversation


def _prompt_changes(conversation: Conversation) -> list[str]:
    from segue.chat.lifecycle import find_drift

    changed = find_drift(conversation)
    return [changed] if changed else []


@contextmanager
def release_on_failure(session: LiveSession) -> Iterator[None]:
    """Release the session if the block fails; otherwise it stays open."""
    try:
        yield
    except BaseException:
        session.release()
        raise


def offer_recovery(
    library: Library, id: str, damages: Sequence[Damage], terminal: Terminal, *, again: str
) -> Exit | None:
    """Ask what to do with a damaged session: None if it was recovered, else the code to exit with.

    Without an answer nothing changes. `again` is the command that asks again.
    """
    terminal.error(str(DamagedError(id, damages)), "it can be recovered or deleted; so far it is unchanged")
    question = "Recover what can be read? The damaged file is kept next to it."
    if terminal.ask(question, default=True) and _recover(library, id, terminal):
        return None
    if terminal.ask("Delete it for good?", default=False):
        library.delete(id)
        terminal.note(f"Deleted session {id}")
        return Exit.DONE
    terminal.note(f"session {id} is unchanged; {again} asks again")
    return Exit.DAMAGED


def _recover(library: Library, id: str, terminal: Terminal) -> bool:
    try:
        recovery = library.recover(id)
    except DamagedError:
        terminal.error("nothing in it can be read", "it can only be deleted")
        return False
    count = sum(branch.own for branch in recovery.session.branches.values())
    turns = "1 turn was" if count == 1 else f"{count} turns were"
    terminal.note(f"{turns} recovered; the damaged file is {recovery.original}")
    return True
