"""What an agent is told before the conversation: the preset's prompt, the summary, the decisions, the attachments.

Pure: the same session gives the same text. What grows without end is cut to its share of the budget, the newest stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.chat.context.tokens import CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

ATTACHMENTS_PERCENT = 40
DECISIONS_PERCENT = 5
"""Of the budget."""

_FENCES = re.compile(r"`{3,}")


class Attached(Struct, frozen=True, kw_only=True):
    """A file that the user gave, as it was then."""

    path: str
    data: bytes | None
    """None where it is lost."""
    changed: bool = False
    """Whether the file has changed since."""


def assemble(
    *,
    prompt: str = "",
    summary: str = "",
    decisions: Sequence[str] = (),
    attachments: Sequence[Attached] = (),
    budget: int,
) -> str:
    """The system prompt; empty if there is nothing to say."""
    sections = [
        prompt.strip(),
        f"# Summary of the conversation so far\n\n{summary.strip()}" if summary.strip() else "",
        _decisions(decisions, budget * CHARACTERS_PER_TOKEN * DECISIONS_PERCENT // 100),
        *_attachments(attachments, budget * CHARACTERS_PER_TOKEN * ATTACHMENTS_PERCENT // 100),
    ]
    return "\n\n".join(section for section in sections if section)


def _decisions(decisions: Sequence[str], room: int) -> str:
    lines: list[str] = []
    for decision in reversed(decisions):
        line = f"- {' '.join(decision.split())}"
        room -= len(line)
        if room < 0:
            lines.append(f"- [{len(decisions) - len(lines):,} earlier decisions are left out]")
            break
        lines.append(line)
    return "\n".join(["# Decisions so far", "", *reversed(lines)]) if lines else ""


def _attachments(attachments: Sequence[Attached], room: int) -> list[str]:
    """Each path once, as it was attached last; if there is no room for all, the newest come first."""
    latest = {attached.path: attached for attached in attachments}
    sections: list[str] = []
    for attached in reversed(latest.values()):
        content = _content(attached.data, room)
        room = max(0, room - len(content))
        note = " (the file has changed since it was attached)" if attached.changed else ""
        path = " ".join(attached.path.split())
        sections.append(f"# Attached file: {path}{note}\n\n{_fenced(content)}")
    return sections[::-1]


def _content(data: bytes | None, room: int) -> str:
    if data is None:
        return "[its content is lost]"
    try:
        text = data.decode("utf-8-sig").strip("\n")
    except UnicodeDecodeError:
        return f"[{len(data):,} bytes that are not text]"
    if len(text) <= room:
        return text
    return f"{text[:room]}\n[{len(text) - room:,} more characters are left out]"


def _fenced(content: str) -> str:
    """Between fences that the content cannot close."""
    longest = max((len(fence) for fence in _FENCES.findall(content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{content}\n{fence}"
