"""What an orchestrator tells while it works."""

from __future__ import annotations

from msgspec import Struct

from segue.dialects.ralph.openspec import Story


class RunStarted(Struct, frozen=True, kw_only=True):
    session_id: str
    is_new: bool
    """Else it goes on where an earlier call stopped."""
    project: str
    agent: str


class StoryStarted(Struct, frozen=True, kw_only=True):
    """An agent was sent to work on a story."""

    story: Story
    attempt: int
    attempts: int


class OutputReceived(Struct, frozen=True, kw_only=True):
    """A piece of what a command says, in the middle of a line or not."""

    text: str


class Verifying(Struct, frozen=True, kw_only=True):
    command: str


class StoryFailed(Struct, frozen=True, kw_only=True):
    story: Story
    reason: str
    is_last: bool
    """Whether it is not tried again."""


class StoryFinished(Struct, frozen=True, kw_only=True):
    story: Story
    commit: str = ""
    """What became of it in git, in words."""


class Notice(Struct, frozen=True, kw_only=True):
    """Something a person should know."""

    words: str


Progress = RunStarted | StoryStarted | OutputReceived | Verifying | StoryFailed | StoryFinished | Notice
