"""Which sessions were started for others: a tool says so in each of them, and what it says may have no end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


def find_tops(parents: Mapping[str, str]) -> dict[str, str]:
    """For every session the one that nobody started, directly or not, for another; `parents` has all sessions.

    A session whose parent is gone is such a one. Of sessions that started one another, it is the first by its id.
    """
    tops: dict[str, str] = {}
    for id in parents:
        path: dict[str, int] = {}
        name = id
        while name not in tops and name not in path:
            path[name] = len(path)
            name = parents[name] if parents[name] in parents else name
        if name in path:
            circle = list(path)[path[name] :]
            tops |= dict.fromkeys(circle, min(circle))
        tops |= dict.fromkeys(path, tops[name])
    return tops


def descendants(top: str, children: Callable[[str], Iterable[str]]) -> Iterator[tuple[str, str]]:
    """The sessions that were started for this one, and those for them, each once and with its parent."""
    seen = {top}
    waiting = [(child, top) for child in children(top)][::-1]
    while waiting:
        id, parent = waiting.pop()
        if id not in seen:
            seen.add(id)
            yield id, parent
            waiting += [(child, id) for child in children(id)][::-1]
