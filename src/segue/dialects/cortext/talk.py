"""A conversation of a workspace in the built-in chat."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segue.chat.company import Company, preset_folders
from segue.chat.consent import trusting
from segue.chat.dialect import Dialect
from segue.chat.drafts import Drafts
from segue.chat.start import come_back, converse, hold, look_back
from segue.chat.workspace import RESUME, settle, workspace_commands
from segue.console import output
from segue.console.places import trust_folder
from segue.trust import Trust
from segue.workspace import CHAT
from segue.workspace.place import BUILT_IN
from segue.workspace.words import resuming, since

if TYPE_CHECKING:
    from segue.chat.engine import Conversation
    from segue.dialects.cortext.desk import Desk
    from segue.workspace import Card


class Talk:
    """All that a conversation at a terminal, or from a script, needs."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._conversations = desk.conversations
        self.terminal = output.conversation(desk.history)
        self._company = Company(
            environ=desk.environ,
            folders=[*desk.workspace.type_folders, *preset_folders(desk.workspace.root)],
            trusted=(BUILT_IN,),
            confirm=trusting(self.terminal),
            trust=Trust(trust_folder()),
            tell=self.terminal.note,
            drafts=Drafts(desk.history.parent / "drafts"),
        )

    def begin(self, type: str, topic: str, *, agent: str, model: str) -> int:
        self._desk.workspace.get_type(type)
        self._company.choose(agent, preset=type, model=model)  # whoever cannot answer says so before anything begins
        session = self._conversations.begin(type, topic, tool=CHAT, agent=agent, model=model)
        try:
            conversation = converse(self._company, session, agent, model)
        except BaseException:
            session.release()
            raise
        return self._hold(conversation)

    def come_back(self, card: Card, *, agent: str, model: str, override: bool) -> int:
        conversation = come_back(
            self._desk.library, self._company, card.id, agent=agent, model=model, override=override
        )
        session = conversation.session
        try:
            self.terminal.say(resuming(session.title))
            for change in self._conversations.drift(session):
                self.terminal.note(change)
            self._conversations.note_tool(session, tool=CHAT, agent=agent, model=model)
            when = since(card.last_active, self._conversations.clock())
            look_back(session, self.terminal, when=when, was=card.status)
        except BaseException:
            session.release()
            raise
        return self._hold(conversation)

    def _hold(self, conversation: Conversation) -> int:
        desk = self._desk
        dialect = Dialect(
            name="cortext",
            greeting="conversation {id} · /help lists the commands, /workspace.stop-conversation saves and leaves",
            resume=RESUME,
            farewell="come back with: {resume}",
            settle=partial(settle, self._conversations, self.terminal),
            idle_seconds=desk.workspace.config.idle_minutes * 60,
            autorecord=True,
            extra=workspace_commands(lambda: self._conversations),
        )
        return hold(
            desk.library,
            conversation,
            self._company,
            dialect=dialect,
            terminal=self.terminal,
            cwd=desk.cwd,
            home=desk.home,
        )
