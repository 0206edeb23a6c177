"""The connections of one store: opened when needed, shared by threads, never by processes."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from segue.errors import MissingExtraError
from segue.stores.postgres.failures import (
    RETRIED,
    ConnectError,
    check_server,
    connect_error,
    is_lost,
    lost_answer,
    lost_connection,
    statement_error,
    too_busy,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    import psycopg

    from segue.errors import SegueError
    from segue.stores.postgres.address import Address
    from segue.stores.postgres.driver import TimedConnection

_MOST_CONNECTIONS = 16
"""How many threads use a connection at the same time; others wait."""
_IDLE_CONNECTIONS = 4
"""How many unused connections stay open."""
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0
_SHORTEST_CONNECT_SECONDS = 2
"""What libpq waits at least."""
_FIRST_PAGE_ROWS = 64
_MOST_PAGE_ROWS = 4096
_PAGE_BYTES = 1 << 20
"""The size that pages of a stream approach."""

_inherited: list[TimedConnection] = []
"""Connections of the parent process: its socket must be neither used nor closed here."""


class Connections:
    """Connections to one database. Nothing is opened before the first use, and none survives a fork.

    The driver has a pool of its own. It connects in worker threads, so that a wrong password is only seen as a
    timeout, and it does not survive a fork; here the thread that asks connects, and gets the error.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[TimedConnection] = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._pid = os.getpid()
        self._was_connected = False
        _all.add(self)

    @contextmanager
    def use(self, doing: str) -> Iterator[TimedConnection]:
        """A connection in autocommit mode. Errors of the driver leave as a SegueError; `doing` names the operation.

        Each statement may take `timeout_seconds`. A connection that broke raises LostAnswerError.
        """
        psycopg = import_driver().psycopg
        connection = self._take(time.monotonic() + self.address.timeout_seconds)
        try:
            yield connection
        except (psycopg.Error, OSError) as error:
            raise self._failure(error, doing, connection) from None
        finally:
            self._put(connection)

    def execute(
        self, doing: str, statement: str, params: Sequence[Any] | Mapping[str, Any] = (), *, retry: bool
    ) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows.

        It is repeated when it was certainly not carried out: no connection, a serialization failure, a deadlock.
        With `retry` also when its outcome is not known; without, that raises LostAnswerError.
        """
        psycopg = import_driver().psycopg
        deadline = time.monotonic() + self.address.timeout_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            connection = self._take(deadline)
            connection.deadline = deadline
            try:
                cursor = connection.execute(statement, params or None, binary=True)
                return cursor.fetchall() if cursor.description else []
            except (psycopg.Error, OSError) as error:
                is_repeated = getattr(error, "sqlstate", None) in RETRIED or (retry and is_lost(error))
                if not is_repeated or time.monotonic() + pause > deadline:
                    raise self._failure(error, doing, connection, is_harmless=retry) from None
            finally:
                connection.deadline = None
                self._put(connection)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def stream(
        self, doing: str, statement: str, params: Mapping[str, Any], *, after: object
    ) -> Iterator[tuple[Any, ...]]:
        """Rows in pages, each a statement of its own: no transaction and no connection is occupied between them.

        The statement is ordered by its first column, which is unique, and has `%(after)s` and `%(rows)s`, as in
        `SELECT seq, body FROM events WHERE seq > %(after)s ORDER BY seq LIMIT %(rows)s`.
        """
        rows = _FIRST_PAGE_ROWS
        while True:
            page = self.execute(doing, statement, {**params, "after": after, "rows": rows}, retry=True)
            yield from page
            if len(page) < rows:
                return
            after = page[-1][0]
            rows = _next_rows(page)

    def close(self) -> None:
        """Close the connections that are not in use. Using them again opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self, deadline: float) -> TimedConnection:
        """A connection that is fit for use, new if none is."""
        if not self._free.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise too_busy(self.address, _MOST_CONNECTIONS)
        try:
            return self._take_fit(deadline)
        except BaseException:
            self._free.release()
            raise

    def _take_fit(self, deadline: float) -> TimedConnection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect(deadline)
            if connection.is_fit():
                return connection
            connection.abandon()

    def _put(self, connection: TimedConnection) -> None:
        if self._pid != connection.pid:
            _inherited.append(connection)
            return
        try:
            if connection.is_fit():
                with self._lock:
                    if len(self._idle) < _IDLE_CONNECTIONS:
                        self._idle.append(connection)
                        return
            connection.abandon()
        finally:
            self._free.release()

    def _connect(self, deadline: float) -> TimedConnection:
        """A new connection. One that was there before is tried again until the deadline, as in a failover."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                connection = self._connect_once(deadline)
            except ConnectError as error:
                is_final = error.is_permanent or not (self._was_connected or error.is_starting)
                if is_final or time.monotonic() + pause > deadline:
                    raise
            else:
                self._was_connected = True
                return connection
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _connect_once(self, deadline: float) -> TimedConnection:
        driver = import_driver()
        address = self.address
        seconds = address.connect_timeout or max(0.0, deadline - time.monotonic()) / address.hosts
        try:
            connection: TimedConnection = driver.TimedConnection.connect(
                address.conninfo,
                autocommit=True,
                prepare_threshold=0,
                connect_timeout=max(_SHORTEST_CONNECT_SECONDS, math.ceil(seconds)),
            )
        except (driver.psycopg.Error, OSError) as error:
            raise connect_error(error, address) from None
        connection.pid, connection.role = os.getpid(), connection.info.user
        connection.seconds = address.timeout_seconds
        connection.deadline = deadline
        try:
            check_server(connection.info.server_version, address)
            if _is_pooled(connection):
                connection.prepare_threshold = None
        except (driver.psycopg.Error, OSError) as error:
            connection.abandon()
            raise connect_error(error, address) from None
        except BaseException:
            connection.abandon()
            raise
        connection.deadline = None
        return connection

    def _failure(
        self, error: psycopg.Error | OSError, doing: str, connection: TimedConnection, *, is_harmless: bool = False
    ) -> SegueError:
        if not is_lost(error):
            return statement_error(error, self.address, doing, connection.role)
        return lost_connection(error, self.address, doing) if is_harmless else lost_answer(error, self.address, doing)

    def _forget(self) -> None:
        """Begin again in a child process."""
        _inherited.extend(self._idle)
        self._idle = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._pid = os.getpid()


def import_driver() -> ModuleType:
    """The module with the driver. MissingExtraError if it is not installed."""
    try:
        from segue.stores.postgres import driver
    except ImportError:
        raise MissingExtraError("the Postgres driver", "postgres") from None
    return driver


def _is_pooled(connection: TimedConnection) -> bool:
    """True if a pooler may run each statement in another server process, so that none may be prepared."""
    row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row is None or row[0] != connection.info.backend_pid


def _next_rows(page: list[tuple[Any, ...]]) -> int:
    size = sum(len(value) for row in page for value in row if isinstance(value, bytes | str))
    return max(1, min(_MOST_PAGE_ROWS, 2 * len(page), _PAGE_BYTES * len(page) // (size + 1)))


_all: weakref.WeakSet[Connections] = weakref.WeakSet()


def _forget_all() -> None:
    for connections in list(_all):
        connections._forget()  # noqa: SLF001 - the module's own


os.register_at_fork(after_in_child=_forget_all)
