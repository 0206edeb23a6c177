"""What a refresh of the index reads, and what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import SegueError
from segue.queries import Filters

if TYPE_CHECKING:
    from segue.index.source import SessionRef, Source


class RefreshResult(Struct, frozen=True, kw_only=True):
    """What a refresh did."""

    seen: int = 0
    read: int = 0
    gone: int = 0
    failed: tuple[tuple[str, SegueError], ...] = ()
    """Sources that could not be read, and why; what was known of them stays in the index."""
    is_stale: bool = False
    """Whether another process was writing the index, so that answers may be slightly out of date."""


def scan(source: Source) -> list[SessionRef]:
    """What there is to copy from a source: nothing from one that answers by itself, which need only answer."""
    if source.queries is None:
        return list(source.scan())
    next(source.queries.list(Filters(), 1), None)
    return []


def is_changed(source: Source, ref: SessionRef, known: tuple[str, bool, bool] | None, *, with_text: bool) -> bool:
    """Whether a session must be read again; also where its writer has died, which changes no file."""
    if known is None:
        return True
    revision, is_read, is_active = known
    if revision != ref.revision or (with_text and not is_read):
        return True
    return is_active and not source.is_alive(ref.id)
