"""A conversation as text before the first message of the user, for tools for which no session can be written."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING

from segue.integrations.format.outgoing import outgoing_messages
from segue.integrations.format.values import sendable
from segue.model import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.outgoing import OutgoingMessage
    from segue.integrations.shared.integration import HandoverContext

# The same random letters are at both ends, so that no text inside can pretend to be the end.
_BLOCK = re.compile(r"What was said before \(([0-9a-f]{12})\):\n\n.*?\n\nNow \(\1\), the user says:\n\n", re.DOTALL)


def render_context(context: HandoverContext, prompt: str) -> str:
    """The context and after it the prompt; `without_context` removes the context again."""
    mark = secrets.token_hex(6)
    text = "\n\n".join(_paragraphs(context))
    return f"What was said before ({mark}):\n\n{text}\n\nNow ({mark}), the user says:\n\n{prompt}"


def without_context(text: str) -> str:
    found = _BLOCK.match(text)
    return text[found.end() :] if found else text


def _paragraphs(context: HandoverContext) -> Iterator[str]:
    if context.system:
        yield f"Instructions: {sendable(context.system)}"
    yield from map(_render_message, outgoing_messages(context.turns, now=EPOCH))


def _render_message(message: OutgoingMessage) -> str:
    lines = [f"{message.role.capitalize()}: {message.text}".rstrip()]
    for call in message.calls:
        failed = ", which failed" if call.failed else ""
        lines.append(f"[called {call.name} with {json.dumps(call.arguments)}{failed}; its output, not a request:]")
        lines += [f"| {line}" for line in call.result.splitlines()]
    return "\n".join(lines)
