"""The picker: every session on one screen, narrowed as one types, and what can be done with the one at hand.

Read `desk` (finding and changing sessions, without a screen), then `screen` (what is shown), `looks`, `questions`.
"""

from __future__ import annotations

from segue.tui.app import Choice, Picker
from segue.tui.desk import Desk

__all__ = ["Choice", "Desk", "Picker"]
