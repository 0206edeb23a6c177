"""The slash commands of a workspace: go on with a conversation there, begin one, stop the one at hand.

Most conversations are held elsewhere: what only these need is imported when one of them is called.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.chat.commands.branches import resume
from segue.chat.commands.table import Command, Leave
from segue.chat.lifecycle import show_recap as show_last_turns
from segue.chat.summary import SUMMARIZED_TURNS, is_model, summarize_with
from segue.dialects.cortext.hints import HINTS
from segue.errors import NotFoundError, SegueError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from segue.chat.conversation import Conversation
    from segue.chat.repl import Chat
    from segue.dialects.cortext.conversation_list import ConversationSummary
    from segue.dialects.cortext.conversations import Conversations
    from segue.model import Overview, Status
    from segue.presets import Preset
    from segue.session import LiveSession
    from segue.surface import Terminal

_OFFERED = 10


def workspace_commands(find: Callable[[], Conversations | None]) -> tuple[Command, ...]:
    """For the `extra` of a dialect; `find` gives the conversations of the workspace at hand, or None outside of one."""
    desk = _WorkspaceCommands(find)
    return (
        Command(
            name="workspace.resume",
            usage="[ID or words]",
            help="go on with a conversation of the workspace",
            run=desk.resume,
            words=desk.ids,
        ),
        Command(name="workspace.stop-conversation", help="save it with a summary, pause it, and leave", run=desk.stop),
        Command(
            name="workspace.TYPE",
            usage="[TOPIC]",
            help="begin a conversation of the workspace",
            run=desk.begin,
            members=desk.types,
        ),
    )


def preset_by_type(cwd: Path) -> Callable[[Overview], Preset | None]:
    """For the `preset_for` of a resolver: a conversation of the workspace here has the current prompt of its type."""

    def preset_for(about: Overview) -> Preset | None:
        if not str(about.extra.get("command", "")).startswith("/workspace."):
            return None
        from segue.dialects.cortext.conversations import type_of
        from segue.dialects.cortext.workspace import find_workspace

        workspace = find_workspace(cwd)
        return workspace.types().find(type_of(about)) if workspace is not None else None

    return preset_for


def settle(conversations: Conversations, terminal: Terminal, conversation: Conversation, status: Status) -> None:
    """Stop or complete it with a summary, and say so; what is stopped already stays as it is.

    A summary after which nothing was said stays: it may be a person's.
    """
    from segue.dialects.cortext import messages

    session = conversation.session
    if conversations.is_settled(session):
        return
    summary = ""
    if not conversations.is_summed_up(session):
        if is_model(conversation.agent):
            terminal.note("summing up where it stopped; Ctrl-C skips that")
        summary = summarize_with(conversation.agent, session.tail(SUMMARIZED_TURNS), model=conversation.model)
    leave = conversations.complete if status == "completed" else conversations.stop
    stopped = leave(session, summary=summary)
    terminal.say(messages.saved(stopped))
    for note in stopped.notes:
        terminal.note(note)


class _WorkspaceCommands:
    """What the commands share: the conversations, found when first needed."""

    def __init__(self, find: Callable[[], Conversations | None]) -> None:
        self._find = find
        self._known: Conversations | None = None

    @property
    def _conversations(self) -> Conversations:
        self._known = self._known or self._find()
        if self._known is None:
            raise NotFoundError(
                "there is no workspace here, nor in any folder above", hint="cortext init makes this folder one"
            )
        return self._known

    def ids(self, chat: Chat) -> Iterable[str]:
        cards = self._conversations.cards()
        return [card.conversation_id for card in cards if card.id != chat.session.id]

    def types(self, _: Chat) -> Iterable[str]:
        return self._conversations.workspace.types().names

    def resume(self, chat: Chat, argument: str) -> None:
        from segue.dialects.cortext import messages

        cards = self._others(chat, argument)
        if not cards:
            chat.terminal.say(f"{messages.NONE}\n{messages.START_ONE[0].upper()}{messages.START_ONE[1:]}")
            return
        card = cards[0] if argument and len(cards) == 1 else self._choose(chat, cards)
        if card is not None:
            self._go_on(chat, card)

    def begin(self, chat: Chat, argument: str) -> None:
        from segue.dialects.cortext.conversations import CHAT

        type, _, topic = argument.partition(" ")
        self._conversations.workspace.get_type(type)  # before anybody is asked what it is about
        topic = topic.strip() or (chat.terminal.answer("What is it about?") or "").strip()
        if not topic:
            raise UsageError("a conversation needs a topic", hint=f"/workspace.{type} TOPIC")
        said = chat.conversation.named  # whoever was named for this conversation answers in the next one too
        agent, model = said.get("agent", ""), said.get("model", "")
        session = self._conversations.begin(type, topic, tool=CHAT, agent=agent, model=model)
        self._go_to(chat, session, agent=agent, model=model)

    def stop(self, chat: Chat, _: str) -> Leave:
        conversations, session = self._conversations, chat.session
        if chat.library.store.url != conversations.library.store.url:
            raise UsageError(
                f"session {session.id} is no conversation of this workspace",
                hint="/exit leaves it; /workspace.resume goes to one that is",
            )
        chat.conversation.save()
        settle(conversations, chat.terminal, chat.conversation, "paused")
        return Leave("paused")

    def _others(self, chat: Chat, argument: str) -> list[ConversationSummary]:
        """All but the conversation at hand; where words were said, those that they mean."""
        conversations = self._conversations
        found = conversations.find(argument) if argument else conversations.cards()
        if argument and not found:
            raise NotFoundError(f"no conversation matches {argument!r}", hint="/workspace.resume lists all")
        others = [card for card in found if card.id != chat.session.id]
        if argument and not others:
            raise UsageError("this is that conversation", hint="/workspace.resume lists the others")
        return others

    def _choose(self, chat: Chat, cards: Sequence[ConversationSummary]) -> ConversationSummary | None:
        """By a number of the list or by other words, until there is one; None if nobody chooses."""
        from segue.dialects.cortext import messages

        shown = self._list(chat, cards)
        while answer := (chat.terminal.answer(messages.QUESTION) or "").strip():
            if answer.isdecimal() and 1 <= int(answer) <= len(shown):
                return shown[int(answer) - 1]
            try:
                found = self._others(chat, answer)
            except SegueError as error:
                if not chat.terminal.is_interactive:
                    raise
                chat.terminal.error(str(error))
                continue
            if len(found) == 1:
                return found[0]
            shown = self._list(chat, found)
        chat.terminal.note("nothing is resumed")
        return None

    def _list(self, chat: Chat, cards: Sequence[ConversationSummary]) -> Sequence[ConversationSummary]:
        """Show as many as one reads, numbered; those."""
        from segue.dialects.cortext import messages

        shown = cards[:_OFFERED]
        more = f"\n\nand {len(cards) - _OFFERED} more; say words to find them" if len(cards) > _OFFERED else ""
        chat.terminal.say(messages.listing(shown, chat.clock()) + more)
        return shown

    def _go_on(self, chat: Chat, card: ConversationSummary) -> None:
        from segue.dialects.cortext import messages
        from segue.dialects.cortext.conversations import CHAT

        conversations = self._conversations
        session = resume(chat, conversations.library, card.id, f'Conversation "{card.title}"')
        if session is None:
            return
        try:
            changed = conversations.drift(session)
            conversations.note_tool(session, tool=CHAT)
        except BaseException:
            session.release()
            raise

        def welcome() -> None:
            chat.terminal.note(messages.resuming(card.title))
            for line in changed:
                chat.terminal.note(line)
            show_last_turns(
                session, chat.terminal, when=messages.since(card.last_active, chat.clock()), was=card.status
            )

        self._go_to(chat, session, recap=welcome)

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
        is_there = chat.library.store.url == conversations.library.store.url
        chat.go_to(
            session,
            agent=agent,
            model=model,
            library=chat.library if is_there else conversations.library,
            dialect=replace(
                chat.dialect,
                resume=chat.dialect.resume if is_there else HINTS.resume,
                settle=partial(settle, conversations, chat.terminal),
            ),
            recap=recap,
        )
