"""The commands that error hints of `soleur` name."""

from __future__ import annotations

from segue.console.error_messages import ErrorHints

HINTS = ErrorHints(list="soleur sessions", resume="soleur load {id}")
