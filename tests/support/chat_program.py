"""A door to a conversation, run as a program of its own at a terminal: `door.py FOLDER`, with the agent below."""

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
from segue.chat.terminal.contract import open_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.chat.agent import Piece, Request
    from segue.session import LiveSession

MARKDOWN = """# A title

Some **bold** text, `code`, and &#155;31m what is none.

1. one
2. two

```python
def answer():
    return 42
```

"""


class Actor:
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


def main(root: Path) -> int:
    def converse(session: LiveSession, _spec: str, _model: str) -> Conversation:
        return Conversation(session, Actor(), drafts=Drafts(root / "drafts"))

    library = segue.open(f"journal:{root / 'sessions'}")
    known = "talk" in library.store.ids()
    session = library.resume("talk") if known else library.create(id="talk")
    terminal = open_terminal(
        sys.stdin, sys.stdout, sys.stderr, environ=os.environ, history=root / "state" / "history.jsonl"
    )
    dialect = replace(SEGUE, idle_seconds=float(os.environ.get("IDLE_SECONDS", SEGUE.idle_seconds)))
    return Chat(
        library, converse(session, "", ""), dialect=dialect, terminal=terminal, converse=converse, cwd=root
    ).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
