"""The connection of psycopg with a deadline. The only module that imports the driver; it is imported when used."""

from __future__ import annotations

import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors, waiting
from psycopg.pq import TransactionStatus

if TYPE_CHECKING:
    from psycopg.abc import PQGen

T = TypeVar("T")

_INTERVAL_SECONDS = 0.1
"""How often a wait looks for signals."""
_CANCEL_SECONDS = 0.5
"""How long the server is asked to stop a statement that this process no longer waits for."""


class DeadlineError(psycopg.OperationalError):
    """The server did not answer in time; the connection is closed."""


class TimedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection on which no wait outlasts its deadline, also when the network swallows everything.

    TCP notices a peer that vanished, but not a proxy that accepts and forwards nothing: only a clock does.
    """

    seconds: float = 20.0
    """The limit of each statement."""
    deadline: float | None = None
    """The end of all waits, in the time of `time.monotonic`; it may only shorten the limit."""
    pid: int = 0
    """The process that opened it."""
    role: str = ""
    """The user of the server."""

    def wait(self, gen: PQGen[T], interval: float = _INTERVAL_SECONDS, timeout: float | None = None) -> T:
        """Run the generator of the driver until it is done, or raise DeadlineError."""
        limit = self.seconds
        if self.deadline is not None:
            limit = min(limit, max(0.0, self.deadline - time.monotonic()))
        try:
            return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=min(limit, timeout or limit))
        except errors._WaitTimeout:  # noqa: SLF001 - what the driver raises; it has no public name
            self.abandon()
            raise DeadlineError("the server did not answer in time") from None
        except (KeyboardInterrupt, SystemExit):
            self.abandon()
            raise

    def abandon(self) -> None:
        """Close the connection at once; a statement that is under way is cancelled if the server can be reached."""
        if self.closed:
            return
        if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
            with suppress(Exception):
                self.cancel_safe(timeout=_CANCEL_SECONDS)
        self._closed = True
        self.pgconn.finish()

    def is_fit(self) -> bool:
        """False if the server has closed the connection, or has sent what was not asked for."""
        if self.closed or self.pgconn.transaction_status != TransactionStatus.IDLE:
            return False
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return not poll.poll(0)

    def __del__(self, _warn: object = None, /) -> None:
        """A connection that ends with the process is not worth a warning."""
