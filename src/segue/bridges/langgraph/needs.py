"""From which event on a thread must be read: what is at its end is found without reading it all.

Each function gives a question to a thread as far as it is known, which answers with the event after which everything
is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.bridges.langgraph.thread import POINTERS, Thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from segue.bridges.langgraph.values import Stored

    Need = Callable[[Thread], int]


def needs_latest(ns: str, parents: Mapping[str, str]) -> Need:
    """What the latest checkpoint of a namespace needs.

    A namespace without a record of it may have lost that record to others. But a namespace of a call is made after the
    checkpoint that made the call (`parents`), so that nothing before that is needed.
    """

    def needed(thread: Thread) -> int:
        if (latest := thread.latest.get(ns)) is not None:
            return latest.floor - 1 if latest.id else thread.seq
        if len(thread.latest) < POINTERS:
            return thread.seq
        return max(
            (found.floor - 1 for name, id in parents.items() if (found := thread.latest.get(name)) and found.id == id),
            default=0,
        )

    return needed


def needs_one(ns: str, checkpoint_id: str | None, parents: Mapping[str, str]) -> Need:
    """What a checkpoint needs, or the latest one."""

    def is_enough(thread: Thread) -> bool:
        entry = thread.find(ns, checkpoint_id)
        return thread.has_all_of(entry) if entry is not None else not checkpoint_id

    return _latest_if(is_enough, ns, parents)


def needs_parent(
    ns: str,
    parent: str | None,
    unchanged: Mapping[str, str | int | float],
    versions: Callable[[Thread, Stored], Mapping[str, str | int | float]],
) -> Need:
    """What a new checkpoint needs: the one before it, and the values of channels that did not change."""

    def is_enough(thread: Thread) -> bool:
        entry = thread.get(ns, parent) if parent else None
        if parent and (entry is None or not thread.has_all_of(entry)):
            return False
        seen = versions(thread, entry.data.checkpoint) if entry is not None and unchanged else {}
        return all(seen.get(channel) == version for channel, version in unchanged.items())

    return _latest_if(is_enough, ns, {})


def needs_chain(ns: str, checkpoint_id: str | None, channels: Sequence[str]) -> Need:
    """What the history of channels needs: the checkpoints before this one, until each channel has a value."""

    def is_enough(thread: Thread) -> bool:
        left = set(channels)
        for entry in thread.before(ns, checkpoint_id):
            left -= entry.data.values.keys()
            if not left:
                return thread.has_all_of(entry)
        return False

    return _latest_if(is_enough, ns, {})


def _latest_if(is_enough: Callable[[Thread], bool], ns: str, parents: Mapping[str, str]) -> Need:
    """What the latest checkpoint needs, if that turns out to be enough when it was read; else everything."""
    latest = needs_latest(ns, parents)

    def needed(thread: Thread) -> int:
        since = latest(thread)
        is_read = thread.has_read and thread.since <= since
        return since if not is_read or thread.is_whole or is_enough(thread) else 0

    return needed
