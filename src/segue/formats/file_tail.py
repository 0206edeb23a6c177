"""Reads the last turns of a branch from the end of a file of lines, at the cost of those lines alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.model import Turn, own_turn_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from segue.model import Event, Overview

    Read = Callable[[int, int], bytes]  # size, offset
    Decode = Callable[[bytes], Sequence[Event] | None]  # whole lines

_FIRST, _LARGEST = 1 << 13, 1 << 24


def read_last_turns(  # noqa: PLR0917 - the file, the branch, how many turns, how to decode
    read: Read, size: int, overview: Overview, branch: str, count: int, decode: Decode
) -> tuple[Turn, ...] | None:
    """The last turns of a branch, oldest first; None if a line is not plain, or too much would have to be read.

    `size` is the end of the last complete line, with or without its newline.
    """
    wanted = own_turn_ranges(overview, branch, count)
    need = sum(high - low for low, high in wanted.values())
    if need == 0:
        return ()
    for start, data in growing_tails(read, size):
        first = data.find(b"\n") + 1 if start else 0
        events = decode(data[first:] if data.endswith(b"\n") else data[first:] + b"\n")
        if events is None:
            return None
        found = _pick(events, wanted, overview)
        if len(found) == need:
            return tuple(found)
    return None


def growing_tails(read: Read, size: int) -> Iterator[tuple[int, bytes]]:
    """Larger and larger pieces of the end of the file, each with its offset; the last may be the whole file."""
    want = _FIRST
    while True:
        start = max(0, size - want)
        yield start, read(size - start, start)
        if start == 0 or want >= _LARGEST:
            return
        want *= 4


def _pick(events: Sequence[Event], wanted: dict[str, tuple[int, int]], overview: Overview) -> list[Turn]:
    """The wanted turns, in the order of the path (which is the order of the file)."""
    left = {name: branch.own for name, branch in overview.branches.items()}
    found: list[Turn] = []
    for event in reversed(events):
        if isinstance(event, Turn) and event.seq <= overview.seq:
            number = left.get(event.branch, 0)
            left[event.branch] = number - 1
            low, high = wanted.get(event.branch, (0, 0))
            if low < number <= high:
                found.append(event)
    found.reverse()
    return found
