"""Into a conversation and out of it again, whichever tool it is held in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.console import output
from segue.console.exit_codes import Exit
from segue.dialects.cortext.chat import CortextChat
from segue.dialects.cortext.choice import get_one
from segue.dialects.cortext.context import STARTS
from segue.dialects.cortext.conversations import CHAT, command_of, type_of
from segue.dialects.cortext.integration import catch_up, confirm, find_tool, hold, part, session_around
from segue.dialects.cortext.messages import resuming, saved
from segue.dialects.resuming import offer_recovery
from segue.errors import NotFoundError, SessionLockedError, UsageError
from segue.transfer.linked_session import LinkedSession

if TYPE_CHECKING:
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.conversation_list import ConversationSummary
    from segue.dialects.cortext.conversations import Stopped
    from segue.model import Status
    from segue.session import LiveSession


def begin(desk: WorkspaceContext, type: str, topic: str, *, tool: str, agent: str, model: str, as_json: bool) -> int:
    """A new conversation, and talking in it; as JSON, only what a tool needs to go on by itself."""
    desk.workspace.get_type(type)
    name = tool or (desk.workspace.config.tool or CHAT if as_json else _tool_here(desk))
    if as_json:
        session = desk.conversations.begin(type, topic, tool=name, agent=agent, model=model)
        return _hand_over(desk, session, name, model=model)
    if name == CHAT:
        return CortextChat(desk).begin(type, topic, agent=agent, model=model)
    there = find_tool(name, desk.environ)
    session = desk.conversations.begin(type, topic, tool=name, model=model)
    report(hold(desk, session, there, model=model, topic=session.title))
    return Exit.DONE


def resume(
    desk: WorkspaceContext, card: ConversationSummary, *, tool: str, agent: str, model: str, yes: bool, as_json: bool
) -> int:
    """Go on with a conversation in the tool that is named, or that it was held in, or in the built-in chat."""
    if (owner := desk.library.store.owner(card.id)) is not None:  # before anybody is asked anything
        raise SessionLockedError(card.id, pid=owner.pid, host=owner.host, since=owner.since)
    talk = CortextChat(desk)
    damages = desk.library.verify(card.id).damages
    if damages:
        left = offer_recovery(desk.library, card.id, damages, talk.terminal, again=f"cortext resume {card.id}")
        if left is not None:
            return left
    is_over = card.status == "completed"
    if is_over and not yes:
        if as_json:
            raise UsageError(f'conversation "{card.title}" was marked complete', hint="--yes goes on with it")
        output.warn(f'conversation "{card.title}" was marked complete')
        if not talk.terminal.ask("Go on with it all the same?", default=False):
            output.warn("it stays complete; --yes goes on with it")
            return Exit.DECLINED
    recorded = _catch_up(desk, card)
    name = tool or _tool_here(desk, (card.id, recorded))
    if as_json:
        return _hand_over(desk, desk.library.resume(card.id, force=is_over), name, model=model)
    if name == CHAT:
        return talk.come_back(card, agent=agent, model=model, force=is_over)
    there = find_tool(name, desk.environ)
    output.line(resuming(card.title))
    report(hold(desk, desk.library.resume(card.id, force=is_over), there, model=model))
    return Exit.DONE


def leave(desk: WorkspaceContext, words: str, status: Status, *, summary: str, as_json: bool) -> int:
    """Stop a conversation, or complete it, from outside of it."""
    card = get_one(desk, words, ask=not as_json)
    session = desk.library.open(card.id)
    try:
        catch_up(desk, session)
        part(session)
        verb = desk.conversations.complete if status == "completed" else desk.conversations.stop
        stopped = verb(session, summary=summary)
    finally:
        session.release()
    if as_json:
        output.data(_plain(stopped))
    else:
        report(stopped)
    return Exit.DONE


def report(stopped: Stopped) -> None:
    """Say that a conversation is saved; what else there is to know goes beside it."""
    output.text(saved(stopped))
    for note in stopped.notes:
        output.warn(note)
    if stopped.commit is not None and stopped.commit.status == "committed":
        output.note(stopped.commit.message)


def _told(desk: WorkspaceContext, session: LiveSession, *, warnings: list[str]) -> dict[str, object]:
    """All that a tool needs to go on with a conversation."""
    about, conversations = session.overview, desk.conversations
    folder = conversations.folder_of(about.id)
    return {
        "id": about.id,
        "conversation_id": folder.name,
        "type": type_of(about),
        "title": about.title,
        "status": about.status,
        "path": str(folder),
        "document": str(conversations.document_of(about)),
        "command": command_of(about),
        "tool": str(about.overrides.get("tool") or CHAT),
        "prompt": conversations.prompt_of(session),
        "context": conversations.context_of(session),
        "summary": about.summary,
        "warnings": warnings,
    }


def _hand_over(desk: WorkspaceContext, session: LiveSession, tool: str, *, model: str) -> int:
    """Print it for the tool that asked; what is said there from now on belongs to the conversation."""
    conversations = desk.conversations
    try:
        warnings = conversations.drift(session)
        around = session_around(tool, desk.environ)
        since = conversations.clock() if around else None
        conversations.note_tool(session, tool=tool, tool_session=around, tool_since=since, model=model)
        desk.vouch(session, LinkedSession(tool, around))
        output.data(_told(desk, session, warnings=warnings))
    finally:
        session.release()
    return Exit.DONE


def _catch_up(desk: WorkspaceContext, card: ConversationSummary) -> str:
    """Take over what nobody has taken over yet; the tool that the conversation was held in last."""
    known = desk.library.store.overview(card.id).overrides
    if known.get("tool_session"):
        session = desk.library.open(card.id)
        try:
            catch_up(desk, session)
        finally:
            session.release()
    return str(known.get("tool") or "")


def _tool_here(desk: WorkspaceContext, *said: tuple[str, str]) -> str:
    """The first of the tools that is on this machine, and else the built-in chat.

    Conversations and workspaces travel: a tool that one of them names is started where it was used here, or on a yes.
    """
    for id, name in (*said, ("", desk.workspace.config.tool)):
        if not name:
            continue
        if name == CHAT:
            break
        try:
            found = find_tool(name, desk.environ).name
        except NotFoundError as error:
            output.warn(f"{error}, so the conversation is held elsewhere")
            continue
        marks, what = desk.marks_of(id), "conversation was held" if id else "workspace's conversations are held"
        if marks.has(STARTS, found):
            return found
        if confirm(f"This {what} in {found}, and not on this machine so far. Start {found}?"):
            marks.put(STARTS, found)
            return found
        output.warn(f"{found} is not started, since it was not chosen here; --tool {found} does")
    return CHAT


def _plain(stopped: Stopped) -> dict[str, object]:
    commit = stopped.commit
    return {
        "id": stopped.id,
        "title": stopped.title,
        "status": stopped.status,
        "summary": stopped.summary,
        "message": saved(stopped),
        "commit": {"status": commit.status, "hash": commit.commit, "words": commit.message} if commit else None,
        "notes": list(stopped.notes),
    }
