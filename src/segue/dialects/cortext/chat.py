"""A conversation of a workspace in the built-in chat."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segue.chat.agents.resolver import AgentResolver
from segue.chat.dialect import Dialect
from segue.chat.lifecycle import resume, run, show_recap
from segue.console.surface import open_surface
from segue.dialects.cortext.conversations import CHAT
from segue.dialects.cortext.hints import HINTS
from segue.dialects.cortext.messages import resuming, since
from segue.dialects.cortext.slash_commands import settle, workspace_commands
from segue.dialects.cortext.workspace import BUILT_IN
from segue.presets import PresetSources, project_folders

if TYPE_CHECKING:
    from segue.chat.conversation import Conversation
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.conversation_list import ConversationSummary


class CortextChat:
    """All that a conversation at a terminal, or from a script, needs."""

    def __init__(self, desk: WorkspaceContext) -> None:
        self._desk = desk
        self._conversations = desk.conversations
        surface = open_surface(history=desk.history)
        self.terminal = surface.terminal
        folders = (*desk.workspace.type_folders, *project_folders("segue", desk.workspace.root))
        self._resolver = AgentResolver(surface, sources=PresetSources(folders=folders, trusted=(BUILT_IN,)))

    def begin(self, type: str, topic: str, *, agent: str, model: str) -> int:
        self._desk.workspace.get_type(type)
        self._resolver.choose(agent, preset=type, model=model)  # whoever cannot answer says so before anything begins
        session = self._conversations.begin(type, topic, tool=CHAT, agent=agent, model=model)
        try:
            conversation = self._resolver.attach(session, agent, model)
        except BaseException:
            session.release()
            raise
        return self._hold(conversation)

    def come_back(self, card: ConversationSummary, *, agent: str, model: str, force: bool) -> int:
        conversation = resume(self._desk.library, self._resolver, card.id, agent=agent, model=model, force=force)
        session = conversation.session
        try:
            self.terminal.say(resuming(session.title))
            for change in self._conversations.drift(session):
                self.terminal.note(change)
            self._conversations.note_tool(session, tool=CHAT, agent=agent, model=model)
            when = since(card.last_active, self._conversations.clock())
            show_recap(session, self.terminal, when=when, was=card.status)
        except BaseException:
            session.release()
            raise
        return self._hold(conversation)

    def _hold(self, conversation: Conversation) -> int:
        desk = self._desk
        dialect = Dialect(
            name="cortext",
            greeting="conversation {id} · /help lists the commands, /workspace.stop-conversation saves and leaves",
            resume=HINTS.resume,
            hint_for=HINTS.hint_for,
            farewell="resume with: {resume}",
            settle=partial(settle, self._conversations, self.terminal),
            idle_seconds=desk.workspace.config.idle_minutes * 60,
            autorecord=True,
            extra=workspace_commands(lambda: self._conversations),
        )
        return run(desk.library, conversation, self._resolver, dialect=dialect)
