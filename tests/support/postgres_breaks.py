"""The seam at which proofs break what is between this process and its server: the messages of the driver."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from typing import TYPE_CHECKING

from psycopg.waiting import Ready, Wait

from segue.stores.postgres.driver import TimedConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Self

    Steps = Generator[Wait, Ready | int, object]

MOMENTS = ("before", "sent", "answered")
"""A message is not sent yet; it is sent, and the server may be at it; its answer has arrived, and nobody read it."""


class Breaks:
    """Calls `strike` with the descriptor of the connection at some messages of this process, counted from `arm` on."""

    def __init__(self, strike: Callable[[int], None]) -> None:
        self._strike = strike
        self._wait = TimedConnection.wait
        self._number, self._steps, self._moment = 0, range(0), ""
        self.has_struck = False
        setattr(TimedConnection, "wait", self._counted())  # noqa: B010 - a seam for the proof, not a value

    def arm(self, step: int, moment: str, *, count: int = 1) -> None:
        """Strike at the n-th message from now on, and at so many in a row."""
        self._number, self._steps, self._moment = 0, range(step, step + count), moment
        self.has_struck = False

    def disarm(self) -> None:
        self._moment = ""

    def remove(self) -> None:
        setattr(TimedConnection, "wait", self._wait)  # noqa: B010

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def _counted(self) -> Callable[..., object]:
        def wait(
            connection: TimedConnection, gen: Steps, interval: float = 0.1, timeout: float | None = None
        ) -> object:
            descriptor = connection.pgconn.socket
            if self._moment == "before" and self._is_due():
                self._strike(descriptor)
            return self._wait(connection, self._watched(gen, descriptor), interval, timeout)

        return wait

    def _watched(self, gen: Steps, descriptor: int) -> Steps:
        """The generator of the driver asks to wait for reading when everything is sent."""
        try:
            state = next(gen)
            while True:
                if state == Wait.R and self._moment in ("sent", "answered") and self._is_due():
                    if self._moment == "answered":
                        select.select([descriptor], [], [])
                    self._strike(descriptor)
                state = gen.send((yield state))
        except StopIteration as ended:
            return ended.value

    def _is_due(self) -> bool:
        self._number += 1
        is_due = self._number in self._steps
        self.has_struck = self.has_struck or is_due
        return is_due


def die(_descriptor: int) -> None:
    """kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)


def cut(descriptor: int) -> None:
    """The connection breaks, and what has arrived and was not read yet is lost with it."""
    with socket.socket(fileno=os.dup(descriptor)) as connection, contextlib.suppress(OSError):
        with contextlib.suppress(BlockingIOError):
            while connection.recv(1 << 16, socket.MSG_DONTWAIT):
                pass
        connection.shutdown(socket.SHUT_RDWR)
