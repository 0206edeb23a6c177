"""A conversation told in words, as part of the first thing the user says: for where no session can be written."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import outgoing_messages, sendable
from segue.model import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.integrations.integration import HandoverContext

# The same random letters at both ends: no text within can pretend to be the end.
_BLOCK = re.compile(r"What was said before \(([0-9a-f]{12})\):\n\n.*?\n\nNow \(\1\), the user says:\n\n", re.DOTALL)


def in_words(context: HandoverContext, prompt: str) -> str:
    """The context and behind it the prompt; `without_context` takes it off again."""
    mark = secrets.token_hex(6)
    told = "\n\n".join(_told(context))
    return f"What was said before ({mark}):\n\n{told}\n\nNow ({mark}), the user says:\n\n{prompt}"


def without_context(text: str) -> str:
    found = _BLOCK.match(text)
    return text[found.end() :] if found else text


def _told(context: HandoverContext) -> Iterator[str]:
    if context.system:
        yield f"Instructions: {sendable(context.system)}"
    yield from (_line(piece) for piece in outgoing_messages(context.turns, now=EPOCH))


def _line(piece: OutgoingMessage) -> str:
    calls = [f"[called {call.name} with {json.dumps(call.arguments)}: {call.result}]" for call in piece.calls]
    return "\n".join([f"{piece.role.capitalize()}: {piece.text}", *calls])
