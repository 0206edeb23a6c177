"""The system prompt of a session: prompt of the preset, summary, decisions, attachments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.chat.context.tokens import CHARACTERS_PER_TOKEN
from segue.errors import DamagedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from segue.model import Overview
    from segue.session import LiveSession


class SystemPrompt:
    """The system prompt of one session, rebuilt only when one of its parts has changed; keeps attachments in memory."""

    def __init__(self, session: LiveSession, *, budget: int) -> None:
        self._session = session
        self._budget = budget
        self._blobs: dict[str, bytes | None] = {}
        self._made_of: object = None
        self._text = ""

    def text(self, prompt: str, changed: Collection[str]) -> str:
        """The system prompt with this prompt, and with a note at attachments whose files have changed."""
        overview = self._session.overview
        made_of = (prompt, overview.title, overview.summary, overview.decisions, overview.attachments, tuple(changed))
        if self._made_of != made_of:
            self._text = assemble(
                prompt="\n\n".join(filter(None, [prompt, _introduction(overview)])),
                summary=overview.summary,
                decisions=[decision.content for decision in overview.decisions],
                attachments=self._attached(changed),
                budget=self._budget,
            )
            self._made_of = made_of
        return self._text

    def cuts(self) -> tuple[AttachmentCut, ...]:
        """The attachments that are not sent whole. Nothing is read if all of them must fit."""
        room = _attachments_room(self._budget)
        latest = {one.path: one for one in self._session.overview.attachments}
        if sum(one.size_bytes for one in latest.values()) <= room:
            return ()
        return tuple(one.cut for one in _fit_attachments(self._attached(()), room) if one.cut is not None)

    def _attached(self, changed: Collection[str]) -> list[Attached]:
        return [
            Attached(path=item.path, data=self._blob(item.hash), changed=item.path in changed)
            for item in self._session.overview.attachments
        ]

    def _blob(self, name: str) -> bytes | None:
        """The content of an attachment; None if it is lost, which the system prompt then states."""
        if name not in self._blobs:
            try:
                self._blobs[name] = self._session.get_blob(name)
            except (NotFoundError, DamagedError):
                self._blobs[name] = None
        return self._blobs[name]


def _introduction(about: Overview) -> str:
    """The facts about a conversation of a workspace; empty for other sessions."""
    facts = {"type": about.extra.get("conversation_type"), "command": about.extra.get("command")}
    if not all(isinstance(fact, str) for fact in facts.values()):
        return ""
    facts = {"title": about.title, **facts, "started": f"{about.created_at:%Y-%m-%d %H:%M} UTC"}
    lines = [f"- {name}: {' '.join(str(fact).split())}" for name, fact in facts.items()]
    return "\n".join(["# This conversation", "", *lines])


ATTACHMENTS_PERCENT = 40
DECISIONS_PERCENT = 5
"""Of the budget."""

_FENCES = re.compile(r"`{3,}")


class Attached(Struct, frozen=True, kw_only=True):
    """A file that the user attached, with its content at that time."""

    path: str
    data: bytes | None
    """None where it is lost."""
    changed: bool = False
    """Whether the file has changed since."""


class AttachmentCut(Struct, frozen=True, kw_only=True):
    """An attachment of which only the beginning is sent, or nothing."""

    path: str
    sent: int
    """Characters."""
    total: int

    def __str__(self) -> str:
        if not self.sent:
            return f"none of the {self.total:,} characters"
        return f"only the first {self.sent:,} of {self.total:,} characters"


class _FittedAttachment(Struct, frozen=True):
    attached: Attached
    content: str
    cut: AttachmentCut | None = None


def assemble(
    *,
    prompt: str = "",
    summary: str = "",
    decisions: Sequence[str] = (),
    attachments: Sequence[Attached] = (),
    budget: int,
) -> str:
    """The system prompt; empty if it has no parts. What grows without limit is cut to its share of the budget."""
    sections = [
        prompt.strip(),
        f"# Summary of the conversation so far\n\n{summary.strip()}" if summary.strip() else "",
        _decisions(decisions, budget * CHARACTERS_PER_TOKEN * DECISIONS_PERCENT // 100),
        *map(_attachment_section, _fit_attachments(attachments, _attachments_room(budget))),
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


def _attachments_room(budget: int) -> int:
    """The characters that all attachments together may have."""
    return budget * CHARACTERS_PER_TOKEN * ATTACHMENTS_PERCENT // 100


def _fit_attachments(attachments: Sequence[Attached], room: int) -> list[_FittedAttachment]:
    """Each path once, as last attached; if there is no room for all, the newest take precedence."""
    latest = {attached.path: attached for attached in attachments}
    fitted: list[_FittedAttachment] = []
    for attached in reversed(latest.values()):
        one = _fit(attached, room)
        room = max(0, room - len(one.content))
        fitted.append(one)
    return fitted[::-1]


def _fit(attached: Attached, room: int) -> _FittedAttachment:
    data = attached.data
    if data is None:
        return _FittedAttachment(attached, "[its content is lost]")
    try:
        text = data.decode("utf-8-sig").strip("\n")
    except UnicodeDecodeError:
        return _FittedAttachment(attached, f"[{len(data):,} bytes that are not text]")
    if len(text) <= room:
        return _FittedAttachment(attached, text)
    cut = AttachmentCut(path=attached.path, sent=room, total=len(text))
    return _FittedAttachment(attached, f"{text[:room]}\n[{len(text) - room:,} more characters are left out]", cut)


def _attachment_section(fitted: _FittedAttachment) -> str:
    notes = [
        *([f"{fitted.cut}"] if fitted.cut is not None else []),
        *(["the file has changed since it was attached"] if fitted.attached.changed else []),
    ]
    note = f" ({'; '.join(notes)})" if notes else ""
    path = " ".join(fitted.attached.path.split())
    return f"# Attached file: {path}{note}\n\n{_fenced(fitted.content)}"


def _fenced(content: str) -> str:
    """Between fences that the content cannot close."""
    longest = max((len(fence) for fence in _FENCES.findall(content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{content}\n{fence}"
