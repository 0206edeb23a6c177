"""The commands that error hints of `aur` name."""

from __future__ import annotations

from segue.console.error_messages import ErrorHints

HINTS = ErrorHints(list="aur spawn --list-sessions", resume="aur spawn --resume {id}")
