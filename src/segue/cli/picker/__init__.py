"""The picker: every session on one screen, narrowed as one types, and what can be done with the one at hand.

Read `desk` (finding and changing sessions, without a screen), then `screen` (what is shown), `looks`, `questions`.
"""

from __future__ import annotations

from segue.cli.picker.app import PickedSession, Picker
from segue.cli.picker.picker_model import PickerModel

__all__ = ["PickedSession", "Picker", "PickerModel"]
