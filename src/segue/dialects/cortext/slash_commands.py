"""The slash commands of a workspace in a chat: resume a conversation, start one, stop the current one.

Most chats never call them, so what only they need is imported when one of them is called.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.chat.commands.sessions import choose, resume
from segue.chat.commands.table import Command, Leave
from segue.chat.lifecycle import show_recap
from segue.chat.summary import SUMMARIZED_TURNS, is_model, summarize_with
from segue.dialects.cortext.hints import HINTS
from segue.dialects.resuming import release_on_failure
from segue.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from segue.chat.conversation import Conversation
    from segue.chat.repl import Chat
    from segue.dialects.cortext.conversation_list import ConversationEntry
    from segue.dialects.cortext.conversations import Conversations
    from segue.model import JsonObject, Overview, Status
    from segue.presets import Preset
    from segue.session import LiveSession
    from segue.surface import Surface, Terminal

_MOST_SHOWN = 10


def workspace_commands(
    find: Callable[[], Conversations | None], *, resume_names: tuple[str, ...] = ()
) -> tuple[Command, ...]:
    """For the `extra` of a dialect; `find` returns the conversations of the workspace, or None outside of one.

    `resume_names` are more names of `/workspace.resume`.
    """
    commands = _WorkspaceCommands(find)
    return (
        Command(
            name="workspace.resume",
            aliases=resume_names,
            usage="[ID or words]",
            help="resume a conversation of the workspace",
            run=commands.resume,
            words=commands.ids,
        ),
        Command(name="workspace.stop-conversation", help="save with a summary, pause, and leave", run=commands.stop),
        Command(
            name="workspace.TYPE",
            usage="[TOPIC]",
            help="start a conversation in the workspace",
            run=commands.start,
            members=commands.types,
        ),
    )


def create_conversation(conversations: Conversations) -> Callable[[Chat, Overview, str, JsonObject], LiveSession]:
    """For the `create` of a dialect: a conversation of the same type as another one."""
    return _WorkspaceCommands(lambda: conversations).create


def find_conversations(surface: Surface) -> Conversations | None:
    """The conversations of the workspace that the current folder is in; None outside of a workspace."""
    from segue.dialects.cortext.conversations import open_conversations
    from segue.dialects.cortext.workspace import find_workspace
    from segue.library import open as open_library

    workspace = find_workspace(surface.cwd)
    if workspace is None:
        return None
    return open_conversations(
        workspace, open_library(workspace.url), environ=surface.environ, home=surface.home, notify=surface.notify
    )


def preset_by_type(cwd: Path) -> Callable[[Overview], Preset | None]:
    """For the `preset_for` of an AgentResolver: a conversation of the workspace has the prompt of its command."""

    def preset_for(about: Overview) -> Preset | None:
        if not str(about.extra.get("command", "")).startswith("/workspace."):
            return None
        from segue.dialects.cortext.command_prompts import preset_of
        from segue.dialects.cortext.workspace import find_workspace

        workspace = find_workspace(cwd)
        return preset_of(workspace, about) if workspace is not None else None

    return preset_for


def format_resuming(title: str) -> str:
    return f'[Resuming "{title}"]'


def stop_and_report(
    conversations: Conversations, terminal: Terminal, conversation: Conversation, status: Status
) -> None:
    """Stop or complete a conversation with a summary, and print that; one that is already stopped stays unchanged.

    A summary that is newer than the last turn is kept: the user may have written it.
    """
    session = conversation.session
    if conversations.is_stopped(session):
        return
    summary = ""
    if not conversations.has_current_summary(session):
        if is_model(conversation.agent):
            terminal.note("writing a summary; Ctrl-C skips it")
        summary = summarize_with(conversation.agent, session.tail(SUMMARIZED_TURNS), model=conversation.model)
    stop = conversations.complete if status == "completed" else conversations.stop
    result = stop(session, summary=summary)
    terminal.say(result.message)
    for note in result.notes:
        terminal.note(note)


def stop_unattended(conversations: Conversations, conversation: Conversation) -> str:
    """Stop a conversation without a user: with a summary of its last turns, and a commit that does not take long."""
    result = conversations.stop(conversation.session, is_hurried=True)
    lines = [f"Summary: {' '.join(result.summary.split())}" if result.summary else "", *result.notes]
    if result.commit is not None and result.commit.status == "committed":
        lines.append(result.commit.message)
    return "\n".join(filter(None, lines))


class _WorkspaceCommands:
    """The commands, with the conversations that they share; these are found when first needed."""

    def __init__(self, find: Callable[[], Conversations | None]) -> None:
        self._find = find
        self._known: Conversations | None = None

    @property
    def _conversations(self) -> Conversations:
        self._known = self._known or self._find()
        if self._known is None:
            raise NotFoundError("this folder is not in a workspace", hint="cortext init makes it one")
        return self._known

    def ids(self, chat: Chat) -> Iterable[str]:
        entries = self._conversations.entries()
        return [entry.conversation_id for entry in entries if entry.id != chat.session.id]

    def types(self, _: Chat) -> Iterable[str]:
        return self._conversations.workspace.types().names

    def resume(self, chat: Chat, argument: str) -> None:
        from segue.dialects.cortext.conversation_list import NONE, START_ONE

        entries = self._find_others(chat, argument)
        if not entries:
            chat.terminal.say(f"{NONE}\n{START_ONE[0].upper()}{START_ONE[1:]}")
            return
        entry = entries[0] if argument and len(entries) == 1 else self._choose(chat, entries)
        if entry is not None:
            self._resume(chat, entry)

    def start(self, chat: Chat, argument: str) -> None:
        from segue.dialects.cortext.conversations import CHAT

        type, _, topic = argument.partition(" ")
        self._conversations.workspace.get_type(type)  # before the user is asked for a topic
        topic = topic.strip() or (chat.terminal.answer("What is it about?") or "").strip()
        if not topic:
            raise UsageError("a conversation needs a topic", hint=f"/workspace.{type} TOPIC")
        chosen = chat.conversation.named  # the agent that was chosen for this conversation answers in the next one too
        agent, model = chosen.get("agent", ""), chosen.get("model", "")
        session = self._conversations.start(type, topic, tool=CHAT, agent=agent, model=model)
        self._go_to(chat, session, agent=agent, model=model)

    def create(self, chat: Chat, like: Overview, title: str, _: JsonObject) -> LiveSession:
        """For the `create` of a dialect: a conversation of the same type."""
        from segue.dialects.cortext.conversations import CHAT, type_of

        topic = title or (chat.terminal.answer("What is it about?") or "").strip()
        if not topic:
            raise UsageError("a conversation needs a topic", hint="/new TOPIC")
        chosen = chat.conversation.named
        agent, model = chosen.get("agent", ""), chosen.get("model", "")
        return self._conversations.start(type_of(like), topic, tool=CHAT, agent=agent, model=model)

    def stop(self, chat: Chat, _: str) -> Leave:
        conversations, session = self._conversations, chat.session
        if chat.library.store.url != conversations.library.store.url:
            raise UsageError(
                f"session {session.id} is not a conversation of this workspace",
                hint="/exit leaves it; /workspace.resume lists the conversations",
            )
        chat.conversation.save()
        stop_and_report(conversations, chat.terminal, chat.conversation, "paused")
        return Leave("paused")

    def _find_others(self, chat: Chat, argument: str) -> list[ConversationEntry]:
        """The conversations that match the argument, all without one, except the current one."""
        conversations = self._conversations
        found = conversations.find(argument) if argument else conversations.entries()
        if argument and not found:
            raise NotFoundError(f"no conversation matches {argument!r}", hint="/workspace.resume lists all")
        others = [entry for entry in found if entry.id != chat.session.id]
        if argument and not others:
            raise UsageError("you are already in this conversation", hint="/workspace.resume lists the others")
        return others

    def _choose(self, chat: Chat, entries: Sequence[ConversationEntry]) -> ConversationEntry | None:
        from segue.dialects.cortext.conversation_list import QUESTION

        shown: list[ConversationEntry] = []

        def show(found: Sequence[ConversationEntry]) -> None:
            shown[:] = self._show_list(chat, found)

        def find(answer: str) -> Sequence[ConversationEntry]:
            is_line = answer.isdecimal() and 1 <= int(answer) <= len(shown)
            return [shown[int(answer) - 1]] if is_line else self._find_others(chat, answer)

        return choose(chat, entries, QUESTION, show=show, find=find)

    def _show_list(self, chat: Chat, entries: Sequence[ConversationEntry]) -> Sequence[ConversationEntry]:
        """Show the first entries with numbers, and return them."""
        from segue.dialects.cortext.conversation_list import format_list

        shown, hidden = entries[:_MOST_SHOWN], len(entries) - _MOST_SHOWN
        more = f"\n\nand {hidden} more; type words to find them" if hidden > 0 else ""
        chat.terminal.say(format_list(shown, chat.clock()) + more)
        return shown

    def _resume(self, chat: Chat, entry: ConversationEntry) -> None:
        from segue.dialects.cortext.conversation_list import format_age
        from segue.dialects.cortext.conversations import CHAT

        conversations = self._conversations
        session = resume(chat, conversations.library, entry.id, f'Conversation "{entry.title}"')
        if session is None:
            return
        with release_on_failure(session):
            changes = conversations.drift(session)
            conversations.note_tool(session, tool=CHAT)

        def introduce() -> None:
            chat.terminal.note(format_resuming(entry.title))
            for change in changes:
                chat.terminal.note(change)
            show_recap(session, chat.terminal, when=format_age(entry.last_active, chat.clock()), was=entry.status)

        self._go_to(chat, session, recap=introduce)

    def _go_to(
        self,
        chat: Chat,
        session: LiveSession,
        *,
        agent: str = "",
        model: str = "",
        recap: Callable[[], None] = lambda: None,
    ) -> None:
        conversations = self._conversations
        is_same_store = chat.library.store.url == conversations.library.store.url
        chat.go_to(
            session,
            agent=agent,
            model=model,
            library=chat.library if is_same_store else conversations.library,
            dialect=replace(
                chat.dialect,
                resume=chat.dialect.resume if is_same_store else HINTS.resume,
                settle=partial(stop_and_report, conversations, chat.terminal),
                save=partial(stop_unattended, conversations),
                create=self.create,
            ),
            recap=recap,
        )
