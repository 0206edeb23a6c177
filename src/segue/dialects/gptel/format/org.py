"""tools.org and system-prompts.org: logs for users, one heading per entry, made from the events and never read back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from zlib import crc32

from segue.dialects.gptel.format.conversation import call_of, displayable
from segue.dialects.gptel.format.settings import VARIABLES
from segue.model import OverridesChanged, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from segue.model import Event

_EDITOR = "editor-"
"""The beginning of the id of a call that the editor logged."""
_LOGGED = f":ID: {_EDITOR}"
_PROMPT = next(iter(key for key, name in VARIABLES.items() if name == "gptel--system-message"))


def with_tools(text: str, turns: Iterable[Turn]) -> str:
    """The log with a heading for every tool turn that is not in it yet.

    If the editor has logged the same call, that heading becomes the heading of the turn.
    """
    for turn in turns:
        if turn.role == "tool" and f":ID: {_word(turn.id)}\n" not in text:
            call = call_of(turn)
            name, call_id = str(call.get("name") or "tool"), str(call["id"])
            body = _call_body(call.get("arguments", {}), turn.content)
            before, _, logged = text.partition(f"{_LOGGED}{_named(name, body)}\n")
            if logged:
                text = f"{before}:ID: {_word(turn.id)}\n:CALL: {_word(call_id)}\n{logged}"
            else:
                text += _heading(name, turn.timestamp.isoformat(), turn.id, call_id) + body
    return text


def with_call(text: str, name: str, arguments: object, result: str, moment: datetime) -> str:
    """The log with one more heading, for a call that the editor made and that need not be in the conversation."""
    body = _call_body(arguments, result)
    return text + _heading(name, moment.isoformat(), f"{_EDITOR}{_named(name, body)}") + body


def _call_body(arguments: object, result: str) -> str:
    shown = json.dumps(arguments, ensure_ascii=True, indent=2)
    return _source("json", shown) + _source("text", result.strip("\n"))


def _named(name: str, body: str) -> str:
    """The same for the same call, so that it is found again."""
    call = f"{_word(name)}\n{body}"
    return f"{crc32(call.encode()):08x}"


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
