"""A conversation as a program of its own, at a terminal: `chat_program.py FOLDER`, with the agent below."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from msgspec.structs import replace

import segue
from segue.chat.agent import AgentError, TextDelta
from segue.chat.conversation import Conversation
from segue.chat.dialect import SEGUE
from segue.chat.drafts import Drafts
from segue.chat.repl import Chat
from segue.chat.terminal import open_terminal
from segue.durable.folder import Folder
from segue.trust import Trust
from tests.support.surface import make_surface

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.chat.agent import Piece, Request
    from segue.session import LiveSession
    from segue.trust import Marks

MARKDOWN = """# A title

Some **bold** text, `code`, and &#155;31m what is none.

1. one
2. two

```python
def answer():
    return 42
```

"""


class ActingAgent:
    """Plays what it is told to."""

    name = "actor"

    def answer(self, request: Request) -> Iterator[Piece]:
        asked = request.messages[-1].content
        match asked.split():
            case ["markdown"]:
                yield from (TextDelta(MARKDOWN[at : at + 5]) for at in range(0, len(MARKDOWN), 5))
                yield TextDelta("The end.")
            case ["long"]:
                yield TextDelta("```\n")
                yield from (TextDelta(f"line {number} of the code\n") for number in range(200))
                yield TextDelta("```\n")
            case ["hang"]:
                yield TextDelta("The beginning of")
                Event().wait()  # until Ctrl-C
            case ["wait"]:
                Event().wait()
            case ["fail"]:
                raise AgentError("the line is dead", hint="wait a moment", can_retry=True)
            case ["hostile"]:
                yield TextDelta("\x1b]0;owned\x07 \x1b[2J\u202e**bold**")
            case _:
                yield TextDelta(f"You said: {asked!r}.")


class ActingAgents:
    """The only agent there is."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self) -> tuple[str, ...]:
        return (ActingAgent.name,)

    def marks_of(self, session: LiveSession) -> Marks:
        return Trust(Folder(str(self._root / "trust"))).of(session.store.url, session.id)

    def attach(self, session: LiveSession, agent: str = "", model: str = "") -> Conversation:
        del agent, model
        return Conversation(session, ActingAgent(), drafts=Drafts(self._root / "drafts"))


def main(root: Path) -> int:
    library = segue.open(f"journal:{root / 'sessions'}")
    known = "talk" in library.store.ids()
    session = library.resume("talk") if known else library.create(id="talk")
    terminal = open_terminal(
        sys.stdin, sys.stdout, sys.stderr, environ=os.environ, history=root / "state" / "history.jsonl"
    )
    dialect = replace(SEGUE, idle_seconds=float(os.environ.get("IDLE_SECONDS", SEGUE.idle_seconds)))
    agents = ActingAgents(root)
    surface = make_surface(root, terminal=terminal)
    return Chat(library, agents.attach(session), surface=surface, agents=agents, dialect=dialect).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
