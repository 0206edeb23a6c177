"""A folder full of conversations, each with a document for people and its session beside it.

Read `place` (the folder), then `conversations` (what people do there), `cards` (finding), `document`, `context`.
"""

from __future__ import annotations

from segue.workspace.cards import Card
from segue.workspace.conversations import CHAT, Conversations, Stopped
from segue.workspace.opening import open_conversations
from segue.workspace.place import Config, Workspace, find_workspace, make_workspace

__all__ = [
    "CHAT",
    "Card",
    "Config",
    "Conversations",
    "Stopped",
    "Workspace",
    "find_workspace",
    "make_workspace",
    "open_conversations",
]
