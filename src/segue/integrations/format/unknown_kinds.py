"""What a reader does not know: reported once for each kind, since it may contain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.values import as_text

if TYPE_CHECKING:
    from segue.integrations.format.lines import LinePlace
    from segue.integrations.format.transcript import TranscriptBuilder

_MOST = 50
"""Kinds that are named; a file with more of them is of another format."""


class UnknownKinds:
    """Damages of one transcript for kinds of records and blocks that are not read."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._seen: set[tuple[str, str]] = set()

    def report(self, what: str, kind: object, *, at: LinePlace | None = None) -> None:
        """Report that a `what`, such as a record or a block, is of a kind that is not read."""
        found = (what, as_text(kind)[:40])
        if found in self._seen or len(self._seen) >= _MOST:
            return
        self._seen.add(found)
        self._builder.damage(f"a {what} of the unknown type {found[1]!r} is not read", at=at)
