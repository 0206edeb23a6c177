"""The sessions of Kilo: all in one database."""

from __future__ import annotations

from segue.integrations.kilo.product import KILO
from segue.integrations.opencode.database import DatabaseHistory

HISTORY = DatabaseHistory(KILO)
root = HISTORY.root
sessions = HISTORY.sessions
read = HISTORY.read
preview = HISTORY.preview
