"""Every system call of an operation fails in turn: which faults there are, and what may come of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import SegueError
from segue.testing.failing import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def each_fault(calls: int, errors: Sequence[int]) -> Iterator[Fault]:
    """Each call with each error, once and for good."""
    for at in range(1, calls + 1):
        for error in errors:
            for for_good in (False, True):
                yield Fault(at=at, error=error, for_good=for_good)


def attempt(fault: Fault, run: Callable[[], object]) -> tuple[object, SegueError | None]:
    """What it gave, or the typed error it raised; anything else ends the proof."""
    try:
        return run(), None
    except SegueError as error:
        return None, error
    except Exception as error:  # noqa: BLE001 - this is the claim
        pytest.fail(f"{fault}: {error!r} escaped")
