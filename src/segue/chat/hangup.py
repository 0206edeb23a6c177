"""Being told to end from outside: by SIGTERM, or by a terminal that is closed."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL = 128


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Turn these signals into SystemExit, so that a command that answers is ended, and the terminal is as it was.

    What had come of an answer is kept. The session reads as interrupted, which it was.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    ours = [number for number, earlier in before.items() if earlier is signal.SIG_DFL]  # nohup says otherwise
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(_BY_SIGNAL + number)
