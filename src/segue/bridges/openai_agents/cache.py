"""The turns of sessions that this process has read: of a session that has grown, only what is new is read again."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from segue.model import Turn, own_turn_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.model import Overview
    from segue.store import Store

_MOST_TURNS = 50_000
"""In all sessions together; the one that is read is always there."""


class _Known:
    """What was read of one session."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.created_at: datetime | None = None
        self.seq = 0
        self.own: dict[str, list[Turn]] = {}

    def read(self, store: Store, overview: Overview) -> None:
        """Read what was recorded since; everything if it is another session by now."""
        if self.created_at != overview.created_at:
            self.created_at, self.seq, self.own = overview.created_at, 0, {}
        if self.seq < overview.seq:
            for event in store.read(overview.id, after=self.seq):
                if isinstance(event, Turn):
                    self.own.setdefault(event.branch, []).append(event)
                self.seq = event.seq

    @property
    def turn_count(self) -> int:
        return sum(map(len, self.own.values()))


_known: OrderedDict[tuple[str, str], _Known] = OrderedDict()
_lock = threading.Lock()


def _forget() -> None:
    global _lock  # noqa: PLW0603 - a fork has the locks of threads that it does not have
    _lock = threading.Lock()
    _known.clear()


os.register_at_fork(after_in_child=_forget)


def last_turns(store: Store, overview: Overview, branch: str, count: int | None) -> Sequence[Turn]:
    """The last turns of a branch, or all of them, as of the overview. They are shared: nothing may be changed in them.

    A session is read whole when all of its turns are asked for, and known from then on.
    """
    can_be_known = store.capabilities.append_only and store.capabilities.shared
    key = store.url, overview.id
    with _lock:
        known = _known.get(key)
        if known is None and can_be_known and count is None:
            known = _known[key] = _Known()
        if known is not None:
            _known.move_to_end(key)
    if known is None:
        return store.load(overview.id).path(branch) if count is None else store.tail(overview.id, count, branch=branch)
    with known.lock:
        try:
            known.read(store, overview)
        except BaseException:
            known.created_at = None  # to read it again from the start
            raise
        ranges = reversed(own_turn_ranges(overview, branch, count).items())
        found = [turn for name, (low, high) in ranges for turn in known.own.get(name, [])[low:high]]
    _shrink()
    return found


def _shrink() -> None:
    with _lock:
        left = sum(known.turn_count for known in _known.values())
        while left > _MOST_TURNS and len(_known) > 1:
            left -= _known.popitem(last=False)[1].turn_count
