"""What an orchestrator tells while it works."""

from __future__ import annotations

from msgspec import Struct

from segue.spec import Story


class Began(Struct, frozen=True, kw_only=True):
    session_id: str
    is_new: bool
    """Else it goes on where an earlier call stopped."""
    project: str
    agent: str


class Started(Struct, frozen=True, kw_only=True):
    """An agent was sent to work on a story."""

    story: Story
    attempt: int
    attempts: int


class Heard(Struct, frozen=True, kw_only=True):
    """A piece of what a command says, in the middle of a line or not."""

    text: str


class Verifying(Struct, frozen=True, kw_only=True):
    command: str


class Failed(Struct, frozen=True, kw_only=True):
    story: Story
    reason: str
    is_last: bool
    """Whether it is not tried again."""


class Finished(Struct, frozen=True, kw_only=True):
    story: Story
    commit: str = ""
    """What became of it in git, in words."""


class Noted(Struct, frozen=True, kw_only=True):
    """Something a person should know."""

    words: str


News = Began | Started | Heard | Verifying | Failed | Finished | Noted
