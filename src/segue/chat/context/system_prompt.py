"""The system prompt of a session, assembled anew only when something it is made of has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.context.sections import Attached, assemble
from segue.errors import DamagedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Collection

    from segue.model import Overview
    from segue.session import LiveSession


class SystemPrompt:
    """Holds the attachments in memory: they are told with every question."""

    def __init__(self, session: LiveSession, *, budget: int) -> None:
        self._session = session
        self._budget = budget
        self._blobs: dict[str, bytes | None] = {}
        self._made_of: object = None
        self._text = ""

    def text(self, prompt: str, changed: Collection[str]) -> str:
        """With this prompt, and a note at the attachments whose files have changed."""
        overview = self._session.overview
        made_of = (prompt, overview.title, overview.summary, overview.decisions, overview.attachments, tuple(changed))
        if self._made_of != made_of:
            self._text = assemble(
                prompt="\n\n".join(filter(None, [prompt, _introduction(overview)])),
                summary=overview.summary,
                decisions=[decision.content for decision in overview.decisions],
                attachments=[
                    Attached(path=item.path, data=self._blob(item.hash), changed=item.path in changed)
                    for item in overview.attachments
                ],
                budget=self._budget,
            )
            self._made_of = made_of
        return self._text

    def _blob(self, name: str) -> bytes | None:
        """A lost attachment is told to the agent as lost; the conversation goes on without it."""
        if name not in self._blobs:
            try:
                self._blobs[name] = self._session.get_blob(name)
            except (NotFoundError, DamagedError):
                self._blobs[name] = None
        return self._blobs[name]


def _introduction(about: Overview) -> str:
    """Which conversation of a workspace this is; other sessions are not introduced."""
    facts = {"type": about.extra.get("conversation_type"), "command": about.extra.get("command")}
    if not all(isinstance(fact, str) for fact in facts.values()):
        return ""
    facts = {"title": about.title, **facts, "started": f"{about.created_at:%Y-%m-%d %H:%M} UTC"}
    lines = [f"- {name}: {' '.join(str(fact).split())}" for name, fact in facts.items()]
    return "\n".join(["# This conversation", "", *lines])
