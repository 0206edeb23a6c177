"""The connections of one store: opened when they are needed, shared by threads, never by processes."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from segue.errors import MissingExtraError, StorageError
from segue.store import Durability
from segue.stores.postgres.durability import ACHIEVED
from segue.stores.postgres.failures import (
    RETRIED,
    ConnectError,
    check_server,
    connect_error,
    is_about_preparing,
    is_lost,
    is_lost_statement,
    is_on_standby,
    lost_answer,
    lost_connection,
    statement_error,
    too_busy,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    import psycopg

    from segue.errors import SegueError
    from segue.stores.postgres.address import Address
    from segue.stores.postgres.driver import TimedConnection
    from segue.stores.postgres.typed import TypedStatement

T = TypeVar("T")

_MOST_CONNECTIONS = 32
"""How many threads use a connection at the same time; others wait."""
_IDLE_SECONDS = 300.0
"""How long an unused connection stays open."""
_SILENT_SECONDS = 60.0
"""After this time without use a connection is tried first: a firewall or a load balancer may have forgotten it."""
_SILENT_SHARE = 4
"""The trial may take this part of the whole time."""
_LONG_SECONDS = 0.01
_LONG_SHARE = 3
"""A commit took long if it took this many times as long as the fastest one, and `_LONG_SECONDS` at least."""
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0
_SHORTEST_CONNECT_SECONDS = 2
"""What libpq waits at least."""

_LEVELS = {int(level): level for level in Durability}

_inherited: list[TimedConnection] = []
"""Connections of the parent process: its sockets must be neither used nor closed here."""


class Connections:
    """Connections to one database. Nothing is opened before the first use, and none survives a fork.

    The driver has a pool of its own. It connects in worker threads, so that a wrong password is only seen as a
    timeout, and it does not survive a fork; here the thread that asks connects, and gets the error.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[TimedConnection] = []
        self._begin()
        self._generation = 0
        self._was_connected = False
        self._prepares = True
        self._fastest_seconds = 0.0
        self.achieved: Durability | None = None
        """What the last commit survives; None if there was none."""
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
        self,
        doing: str,
        statement: str,
        params: Sequence[Any] | Mapping[str, Any] = (),
        *,
        retry: bool,
        changes: bool = False,
        seconds: float | None = None,
    ) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows, all within `timeout_seconds`, or even within `seconds`.

        It is repeated when it was certainly not carried out: no connection, a serialization failure, a deadlock.
        With `retry` also when its outcome is not known. If it then stays unknown, that is a StorageError, or with
        `changes` LostAnswerError; without `retry`, it is LostAnswerError at once. The statement may still be running
        on the server.
        """
        return self._execute(doing, statement, params, retry=retry, changes=changes, seconds=seconds)[0]

    def commit(
        self, doing: str, statement: str | TypedStatement, params: Mapping[str, Any] | Sequence[bytes], *, retry: bool
    ) -> tuple[list[tuple[Any, ...]], Durability]:
        """As `execute`, for a statement whose last column is `durability.ACHIEVED`; also what its commit survives."""
        began = time.monotonic()
        rows, is_local = self._execute(doing, statement, params, retry=retry)
        if not rows:
            return rows, Durability.VOLATILE
        achieved = _LEVELS[int(rows[0][-1])]
        if achieved == Durability.REPLICATED:
            seconds = time.monotonic() - began
            is_long = seconds > max(_LONG_SECONDS, _LONG_SHARE * self._fastest_seconds)
            if is_local or (is_long and not self._is_still_replicated(doing)):
                achieved = Durability.SYNCED
            else:
                self._fastest_seconds = min(self._fastest_seconds or seconds, seconds)
        self.achieved = achieved
        return rows, achieved

    def _is_still_replicated(self, doing: str) -> bool:
        """Ask for the settings after a long wait: one that an administrator ended looks like one that succeeded.

        The server signals new settings to all connections before the process that ends the waits, and a connection
        takes them over before its next statement.
        """
        try:
            return self.execute(doing, f"SELECT {ACHIEVED}", retry=True) == [(Durability.REPLICATED,)]
        except StorageError:
            return False

    def _execute(
        self,
        doing: str,
        statement: str | TypedStatement,
        params: Sequence[Any] | Mapping[str, Any],
        *,
        retry: bool,
        changes: bool = False,
        seconds: float | None = None,
    ) -> tuple[list[tuple[Any, ...]], bool]:
        """The rows, and whether the server has warned that the commit is not on its standby."""
        limit = self.address.timeout_seconds
        deadline = time.monotonic() + (limit if seconds is None else min(seconds, limit))
        pauses: Iterator[float] | None = None
        while True:
            connection = self._take(deadline)
            connection.deadline, connection.cancels, connection.is_local = deadline, retry, False
            try:
                return connection.rows(statement, params), connection.is_local
            except (import_driver().psycopg.Error, OSError) as error:
                is_repeated = self._is_rolled_back(error, connection) or (retry and is_lost(error))
                pauses = pauses or _pauses()
                if not is_repeated or time.monotonic() + (pause := next(pauses)) > deadline:
                    is_harmless = retry and not changes
                    raise self._failure(error, doing, connection, str(statement), is_harmless=is_harmless) from None
            finally:
                connection.deadline, connection.cancels = None, True
                self._put(connection)
            time.sleep(pause)

    def transact(self, doing: str, work: Callable[[TimedConnection], T]) -> T:
        """Do several statements in one transaction, which is repeated as in `execute` with `retry` and `changes`.

        So the work must find out whether it was done already, by an attempt whose answer was lost.
        """
        deadline = time.monotonic() + self.address.timeout_seconds
        pauses = _pauses()
        while True:
            connection = self._take(deadline)
            connection.deadline = deadline
            try:
                with connection.transaction():
                    # What others did while a statement waited for them is seen by the next one.
                    connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                    return work(connection)
            except (import_driver().psycopg.Error, OSError) as error:
                is_repeated = self._is_rolled_back(error, connection) or is_lost(error)
                if not is_repeated or time.monotonic() + (pause := next(pauses)) > deadline:
                    raise self._failure(error, doing, connection) from None
            finally:
                connection.deadline = None
                self._put(connection)
            time.sleep(pause)

    def close(self) -> None:
        """Close all connections, those in use when they are returned. Using them again opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._generation += 1
        for connection in idle:
            connection.abandon()

    # ── Taking and returning ─────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._returned = threading.Condition(self._lock)
        self._used = self._waiting = 0

    def _take(self, deadline: float) -> TimedConnection:
        """A connection that is fit for use, new if none is."""
        with self._lock:
            if self._used >= _MOST_CONNECTIONS:
                self._wait(deadline)
            self._used += 1
            connection = self._idle.pop() if self._idle else None
        try:
            while connection is not None:
                if self._is_fit(connection):
                    return connection
                connection.abandon()
                with self._lock:
                    connection = self._idle.pop() if self._idle else None
            return self._connect(deadline)
        except BaseException:
            self._leave()
            raise

    def _wait(self, deadline: float) -> None:
        """Wait until less than the most connections are used; called with the lock."""
        self._waiting += 1
        try:
            while self._used >= _MOST_CONNECTIONS:
                if not self._returned.wait(max(0.0, deadline - time.monotonic())):
                    raise too_busy(self.address, _MOST_CONNECTIONS)
        finally:
            self._waiting -= 1

    def _leave(self) -> None:
        with self._lock:
            self._free_one()

    def _free_one(self) -> None:
        """Let another thread use a connection; called with the lock."""
        self._used -= 1
        if self._waiting:
            self._returned.notify()

    def _is_fit(self, connection: TimedConnection) -> bool:
        is_silent = time.monotonic() - connection.used_at > _SILENT_SECONDS
        return connection.is_fit() and (
            not is_silent or connection.answers(self.address.timeout_seconds / _SILENT_SHARE)
        )

    def _put(self, connection: TimedConnection) -> None:
        """Return a connection. The one used last is taken first, so that those too many grow old and are closed."""
        if connection.pid != os.getpid():
            _inherited.append(connection)
            return
        connection.used_at = now = time.monotonic()
        old = []
        with self._lock:
            self._free_one()
            if connection.is_idle() and connection.generation == self._generation:
                self._idle.append(connection)
            else:
                old.append(connection)
            while self._idle and now - self._idle[0].used_at > _IDLE_SECONDS:
                old.append(self._idle.pop(0))
        for one in old:
            one.abandon()

    # ── Connecting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _connect(self, deadline: float) -> TimedConnection:
        """A new connection. A server that was there before is tried until the deadline, as in a failover."""
        pauses = _pauses()
        while True:
            try:
                connection = self._connect_once(deadline)
            except ConnectError as error:
                is_final = error.is_permanent or not (self._was_connected or error.is_starting)
                if is_final or time.monotonic() + (pause := next(pauses)) > deadline:
                    raise
            else:
                self._was_connected = True
                return connection
            time.sleep(pause)

    def _connect_once(self, deadline: float) -> TimedConnection:
        driver = import_driver()
        address = self.address
        seconds = address.connect_timeout or (deadline - time.monotonic()) / address.hosts
        try:
            connection: TimedConnection = driver.TimedConnection.connect(
                address.conninfo,
                autocommit=True,
                prepare_threshold=0,
                context=driver.Adapters(),
                client_encoding="UTF8",
                connect_timeout=max(_SHORTEST_CONNECT_SECONDS, math.ceil(seconds)),
            )
        except (driver.psycopg.Error, OSError) as error:
            raise connect_error(error, address) from None
        connection.pid, connection.role, connection.generation = os.getpid(), connection.info.user, self._generation
        connection.seconds, connection.deadline = address.timeout_seconds, deadline
        try:
            check_server(connection.info.server_version, address)
            if not self._prepares or connection.is_pooled():
                connection.prepare_threshold = None
            connection.listen()
        except (driver.psycopg.Error, OSError) as error:
            connection.abandon()
            raise connect_error(error, address) from None
        except BaseException:
            connection.abandon()
            raise
        connection.deadline = None
        return connection

    # ── Failing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _is_rolled_back(self, error: psycopg.Error | OSError, connection: TimedConnection) -> bool:
        """True if the statement did nothing, and may succeed if it is repeated."""
        if self.address.wants_primary and is_on_standby(error):  # the primary has become a standby, and left us there
            connection.abandon()
            return True
        if is_about_preparing(error):
            connection.abandon()  # with all that is prepared there
            self._prepares = self._prepares and not is_lost_statement(error)
            return True
        return getattr(error, "sqlstate", None) in RETRIED

    def _failure(
        self,
        error: psycopg.Error | OSError,
        doing: str,
        connection: TimedConnection,
        statement: str = "",
        *,
        is_harmless: bool = False,
    ) -> SegueError:
        if not is_lost(error):
            return statement_error(error, self.address, doing, role=connection.role, statement=statement)
        return lost_connection(error, self.address, doing) if is_harmless else lost_answer(error, self.address, doing)

    def _forget(self) -> None:
        """Begin again in a child process."""
        _inherited.extend(self._idle)
        self._idle = []
        self._begin()


def import_driver() -> ModuleType:
    """The module with the driver. MissingExtraError if it is not installed."""
    try:
        from segue.stores.postgres import driver
    except ImportError:
        raise MissingExtraError("the Postgres driver", "postgres") from None
    return driver


def _pauses() -> Iterator[float]:
    """The pauses between attempts, each twice as long as the one before."""
    pause = _FIRST_PAUSE_SECONDS
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


_all: weakref.WeakSet[Connections] = weakref.WeakSet()


def _forget_all() -> None:
    for connections in list(_all):
        connections._forget()  # noqa: SLF001 - the module's own


os.register_at_fork(after_in_child=_forget_all)
