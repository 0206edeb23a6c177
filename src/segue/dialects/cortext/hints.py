"""The commands that error hints of `cortext` name."""

from __future__ import annotations

from segue.console.error_messages import ErrorHints

HINTS = ErrorHints(list="cortext list", resume="cortext resume {id}")
