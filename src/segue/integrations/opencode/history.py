"""The sessions of opencode: all in one database."""

from __future__ import annotations

from segue.integrations.opencode.database import DatabaseHistory
from segue.integrations.opencode.product import OPENCODE

HISTORY = DatabaseHistory(OPENCODE)
root = HISTORY.root
sessions = HISTORY.sessions
read = HISTORY.read
preview = HISTORY.preview
