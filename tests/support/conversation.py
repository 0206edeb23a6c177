"""Somebody to talk to in tests, and a real conversation over a real journal with scripted lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO, StringIO
from typing import TYPE_CHECKING

import segue
from segue.chat.agent import TextDelta
from segue.chat.conversation import Conversation
from segue.chat.dialect import SEGUE
from segue.chat.repl import Chat
from segue.chat.terminal.script import ScriptTerminal
from segue.durable.folder import Folder
from segue.errors import NotFoundError
from segue.presets import Preset
from segue.trust import Trust
from tests.support.surface import make_surface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segue.chat.agent import Piece, Request
    from segue.chat.dialect import Dialect
    from segue.library import Library
    from segue.model import Session
    from segue.session import LiveSession
    from segue.surface import Terminal
    from segue.trust import Marks


class EchoAgent:
    """Says (or raises, or does) what it was taught, one answer a question, then repeats what it hears."""

    def __init__(
        self, *answers: str | tuple[str | BaseException | Callable[[], None], ...], name: str = "parrot"
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self._answers = list(answers)

    def answer(self, request: Request) -> Iterator[Piece]:
        self.requests.append(request)
        taught = self._answers.pop(0) if self._answers else f"You said: {request.messages[-1].content}"
        for piece in (taught,) if isinstance(taught, str) else taught:
            if isinstance(piece, BaseException):
                raise piece
            if isinstance(piece, str):
                yield TextDelta(piece)
            else:
                piece()


@dataclass
class ScriptedChat:
    """A folder with a store in it, and everything that a conversation there said."""

    root: Path
    agent: EchoAgent = field(default_factory=EchoAgent)
    dialect: Dialect = SEGUE
    out: str = ""
    err: str = ""
    code: int = -1

    @property
    def store(self) -> str:
        return f"journal:{self.root / 'sessions'}"

    @property
    def library(self) -> Library:
        return segue.open(self.store)

    @property
    def session(self) -> Session:
        return self.library.load("talk")

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(turn.role, turn.content) for turn in self.session.turns]

    def talk(self, *lines: str | bytes, id: str = "talk") -> str:
        """Type the lines, new or again; what came on standard output."""
        library = self.library
        known = id in library.store.ids()
        session = library.resume(id) if known else library.create(id=id, agent="parrot")
        typed = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
        return self.converse(library, session, typed)

    def converse(self, library: Library, session: LiveSession, typed: bytes) -> str:
        out, err = StringIO(), StringIO()
        try:
            self.code = self.chat(library, session, ScriptTerminal(BytesIO(typed), out, err)).run()
        finally:
            self.out, self.err = out.getvalue(), err.getvalue()
        return self.out

    def chat(self, library: Library, session: LiveSession, terminal: Terminal, dialect: Dialect | None = None) -> Chat:
        return Chat(
            library,
            Conversation(session, self.agent),
            surface=make_surface(self.root, terminal=terminal),
            agents=self,
            dialect=dialect or self.dialect,
        )

    @staticmethod
    def stream() -> StringIO:
        return StringIO()

    # As an AgentResolver does:

    def names(self) -> tuple[str, ...]:
        return "owl", "parrot"

    def marks_of(self, session: LiveSession) -> Marks:
        return Trust(Folder(str(self.root / "trust"))).of(session.store.url, session.id)

    def attach(self, session: LiveSession, agent: str, model: str) -> Conversation:
        match agent or str(session.overview.overrides.get("agent", "parrot")):
            case "parrot":
                return Conversation(session, self.agent)
            case "crow":
                return Conversation(session, EchoAgent(name=f"crow/{model}" if model else "crow"))
            case "owl":
                return Conversation(session, EchoAgent(name="owl"), preset=Preset(name="owl", system_prompt="Be wise."))
            case other:
                raise NotFoundError(f"there is no agent {other}", hint="there are owl and parrot")
