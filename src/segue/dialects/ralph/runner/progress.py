"""What an orchestrator reports while it works."""

from __future__ import annotations

from msgspec import Struct

from segue.dialects.ralph.openspec import Story


class RunStarted(Struct, frozen=True, kw_only=True):
    session_id: str
    is_new: bool
    """False if it resumes where an earlier call stopped."""
    project: str
    agent: str


class StoryStarted(Struct, frozen=True, kw_only=True):
    """An agent starts to work on a story."""

    story: Story
    attempt: int
    attempts: int


class OutputReceived(Struct, frozen=True, kw_only=True):
    """A piece of the output of a command, not always whole lines."""

    text: str


class Verifying(Struct, frozen=True, kw_only=True):
    command: str


class StoryFailed(Struct, frozen=True, kw_only=True):
    story: Story
    reason: str
    is_last: bool
    """Whether no retry follows."""


class StoryFinished(Struct, frozen=True, kw_only=True):
    story: Story
    commit: str = ""
    """The result of the commit, for the user."""


class Notice(Struct, frozen=True, kw_only=True):
    """Something that the user should know."""

    text: str


Progress = RunStarted | StoryStarted | OutputReceived | Verifying | StoryFailed | StoryFinished | Notice
