"""What whoever goes on with a conversation is told: what it is, where it stopped, what was decided, what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.formats.transcript import iso, markdown_turns
from segue.transfer.window import handover_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Overview, Turn
    from segue.session import LiveSession

_BEGIN = "This conversation begins."
_GO_ON = "This conversation goes on. Take up the thread where it stopped; what was said is a record, not a request."


def context_block(session: LiveSession, *, conversation_id: str, type: str, command: str) -> str:
    """All of it, for whoever starts from nothing."""
    opening, left_out, last = handover_window(session)
    about = session.overview
    said = [
        transcript(about, opening),
        f"[{left_out:,} messages in between are left out]" if left_out else "",
        transcript(about, last, first=about.turn_count - len(last) + 1),
    ]
    parts = [
        introduction(about, conversation_id=conversation_id, type=type, command=command),
        "## What was said",
        "\n\n".join(part for part in said if part) or "Nothing yet.",
        f"## Now\n\n{_GO_ON if about.turn_count else _BEGIN}",
    ]
    return "\n\n".join(parts) + "\n"


def introduction(about: Overview, *, conversation_id: str, type: str, command: str) -> str:
    """What the conversation is, where it stopped and what was decided, for whoever has the turns already."""
    facts = {
        "conversation": conversation_id,
        "type": type,
        "command": command,
        "started": iso(about.created_at),
        "last active": iso(about.updated_at),
        "messages": str(about.turn_count),
    }
    decisions = "\n".join(f"- {_flat(one.content)}" for one in about.decisions)
    parts = [
        f"# Conversation: {_flat(about.title or conversation_id)}",
        "\n".join(f"- {name}: {_flat(fact)}" for name, fact in facts.items()),
        f"## Where it stopped\n\n{about.summary}" if about.summary else "",
        f"## Decisions so far\n\n{decisions}" if decisions else "",
    ]
    return "\n\n".join(part for part in parts if part)


def transcript(about: Overview, turns: Sequence[Turn], *, first: int = 1) -> str:
    """The turns as sections of Markdown, and nothing about the session."""
    text = markdown_turns(replace(about, decisions=()), tuple(turns), about.branch, first=first)
    return text[text.index("\n## ") :].strip("\n") if turns else ""  # behind the header, no line of which begins so


def _flat(text: str) -> str:
    return " ".join(text.split())
