"""Ctrl-C where it stops something, and nowhere else."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


@contextmanager
def stopping_only(when: Callable[[], bool]) -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt once, and only while `when` says so.

    An impatient second one, or one that comes just as an answer ends, would hit the append of that answer, and leave a
    writer that does not know what it has written.
    """
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield  # somebody else is in charge of it
        return
    has_stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal has_stopped
        if when() and not has_stopped:
            has_stopped = True
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
