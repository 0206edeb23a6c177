"""tools.org and system-prompts.org: logs for users, one heading per entry, made from the events and never read back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from segue.dialects.gptel.format.conversation import call_of, displayable
from segue.dialects.gptel.format.settings import VARIABLES
from segue.model import OverridesChanged, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.model import Event

_PROMPT = next(iter(key for key, name in VARIABLES.items() if name == "gptel--system-message"))


def with_tools(text: str, turns: Iterable[Turn]) -> str:
    """The log with a heading for every tool turn that is not in it yet."""
    for turn in turns:
        if turn.role == "tool" and f":ID: {_word(turn.id)}\n" not in text:
            call = call_of(turn)
            arguments = json.dumps(call.get("arguments", {}), ensure_ascii=True, indent=2)
            text += _heading(str(call.get("name") or "tool"), turn.timestamp.isoformat(), turn.id, str(call["id"]))
            text += _source("json", arguments) + _source("text", turn.content)
    return text


def with_prompts(text: str, events: Iterable[Event]) -> str:
    """The log with a heading for every change of the system prompt that is not in it yet."""
    for event in events:
        prompt = event.values.get(_PROMPT) if isinstance(event, OverridesChanged) else None
        if isinstance(event, OverridesChanged) and isinstance(prompt, str) and f":ID: {_word(event.id)}\n" not in text:
            text += _heading("System prompt", event.timestamp.isoformat(), event.id) + _source("markdown", prompt)
    return text


def _heading(title: str, moment: str, name: str, call: str = "") -> str:
    called = f":CALL: {_word(call)}\n" if call else ""
    return f"* {_word(title)}\n:PROPERTIES:\n:TIME: {moment}\n:ID: {_word(name)}\n{called}:END:\n\n"


def _source(language: str, text: str) -> str:
    """A source block. A comma keeps lines of the text from being headings or ends of blocks."""
    safe = re.sub(r"^(,*(?:\*|#\+))", r",\1", displayable(text), flags=re.MULTILINE)
    return f"#+begin_src {language}\n{safe}\n#+end_src\n\n"


def _word(text: str) -> str:
    return " ".join(displayable(text).split())
