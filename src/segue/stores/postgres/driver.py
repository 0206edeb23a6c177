"""The connection of psycopg with a deadline; this module imports the driver, so it is imported when it is used."""

from __future__ import annotations

import hashlib
import select
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import capabilities, errors, generators, waiting
from psycopg.adapt import AdaptersMap, Loader
from psycopg.pq import ExecStatus, Format, TransactionStatus

from segue.stores.postgres.durability import WAITING_FUNCTION
from segue.stores.postgres.typed import POSTGRES_EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from psycopg.abc import Buffer, PQGen
    from psycopg.pq.abc import PGresult

    from segue.stores.postgres.typed import TypedStatement

T = TypeVar("T")

_INTERVAL_SECONDS = 0.1
"""How often a wait looks for signals."""
_CANCEL_SECONDS = 0.5
"""How long the server is asked to stop a statement that this process no longer waits for."""


class _UtcLoader(Loader):
    """Times in UTC. The loader of the driver uses the zone that the server is set to, which may reach beyond year 1."""

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime:
        return POSTGRES_EPOCH + timedelta(microseconds=int.from_bytes(data, "big", signed=True))


_IDLE = TransactionStatus.IDLE
_DONE = frozenset({ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK})
ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_loader("timestamptz", _UtcLoader)


class Adapters:
    """What `connect` takes as its context: how values are read from rows."""

    adapters = ADAPTERS
    connection = None


class DeadlineError(psycopg.OperationalError):
    """The server did not answer in time; the connection is closed."""


class TimedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection on which no wait outlasts its limit, also when the network swallows everything.

    TCP notices a peer that vanished, but not a proxy that accepts and forwards nothing: only a clock does.
    """

    seconds: float = 20.0
    """The limit of each statement."""
    deadline: float | None = None
    """The end of all waits, in the time of `time.monotonic`; it only shortens the limit."""
    cancels: bool = True
    """Whether the server is asked to stop a statement when the wait for it ends early.

    An append that waits for its standby must not be cancelled: it would be visible, and only on the primary.
    """
    pid: int = 0
    """The process that opened it."""
    role: str = ""
    """The user of the server."""
    generation: int = 0
    """How often the connections were closed before this one was opened."""
    is_local: bool = False
    """Whether the server has warned that a commit is not on the standby: the wait for it was cancelled."""
    used_at: float = 0.0
    """When it was last used, in the time of `time.monotonic`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of the driver
        super().__init__(*args, **kwargs)
        self._names: dict[str, bytes] = {}  # of the statements that are prepared here, by their text
        self._poll = select.poll()
        self._poll.register(self.pgconn.socket, select.POLLIN)

    def rows(self, statement: str | TypedStatement, values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Execute a statement. The rows of a typed one are texts, an empty one for NULL."""
        if isinstance(statement, str):
            cursor = self.execute(statement, values or None, binary=True)
            return cursor.fetchall() if cursor.pgresult is not None and cursor.pgresult.nfields else []
        result = self._run(statement, values)  # type: ignore[arg-type]
        columns = range(result.nfields)
        return [
            tuple([(result.get_value(row, column) or b"").decode() for column in columns])
            for row in range(result.ntuples)
        ]

    def _run(self, statement: TypedStatement, values: Sequence[bytes]) -> PGresult:
        if self.prepare_threshold is None:
            self.pgconn.send_query_params(statement.encoded, values, statement.types, statement.formats)
            return self._result()
        name = self._names.get(statement.text) or self._prepare(statement)
        try:
            self.pgconn.send_query_prepared(name, values, statement.formats)
            return self._result()
        except errors.InvalidSqlStatementName:  # the driver forgets all of them after a ROLLBACK
            self._names.clear()
            self.pgconn.send_query_prepared(self._prepare(statement), values, statement.formats)
            return self._result()

    def _prepare(self, statement: TypedStatement) -> bytes:
        # A pooler that was not recognized may have this name from another client: then it is the same statement.
        name = b"segue_" + hashlib.sha256(statement.encoded).hexdigest()[:32].encode()
        self.pgconn.send_prepare(name, statement.encoded, statement.types)
        self._result()
        self._names[statement.text] = name
        return name

    def _result(self) -> PGresult:
        result: PGresult = self.wait(generators.execute(self.pgconn))[-1]
        if result.status not in _DONE:
            raise errors.error_from_result(result)
        return result

    def wait(self, gen: PQGen[T], interval: float = _INTERVAL_SECONDS, timeout: float | None = None) -> T:
        """Run the generator of the driver until it is done, or raise DeadlineError."""
        limit = self.seconds if timeout is None else min(self.seconds, timeout)
        if self.deadline is not None:
            limit = min(limit, max(0.0, self.deadline - time.monotonic()))
        try:
            return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=limit)
        except errors._WaitTimeout:  # noqa: SLF001 - what the driver raises; it has no public name
            self.abandon()
            raise DeadlineError("the server did not answer in time") from None
        except (KeyboardInterrupt, SystemExit):
            self.abandon()
            raise

    def abandon(self) -> None:
        """Close the connection at once. A statement that is under way is cancelled if that is wanted and possible."""
        if self.closed:
            return
        # Older versions of libpq can only cancel with calls that never end if the network swallows everything.
        is_running = self.pgconn.transaction_status == TransactionStatus.ACTIVE
        if is_running and self.cancels and capabilities.has_cancel_safe():
            with suppress(Exception):
                self.cancel_safe(timeout=_CANCEL_SECONDS)
        self._closed = True
        self.pgconn.finish()

    def listen(self) -> None:
        """Set `is_local` from now on."""
        self.add_notice_handler(self._notice)

    def _notice(self, notice: errors.Diagnostic) -> None:
        self.is_local = self.is_local or notice.source_function == WAITING_FUNCTION

    def is_idle(self) -> bool:
        """True if it is open, and neither a statement nor a transaction is under way."""
        return self.pgconn.transaction_status == _IDLE

    def is_fit(self) -> bool:
        """False if the server has closed the connection, or has sent what was not asked for."""
        return self.pgconn.transaction_status == _IDLE and not self._poll.poll(0)

    def answers(self, seconds: float) -> bool:
        """Ask the server for a sign of life: a connection that nothing used for long may have been cut silently."""
        before, self.seconds = self.seconds, min(seconds, self.seconds)
        try:
            self.execute("SELECT 1", prepare=False)
        except (psycopg.Error, OSError):
            return False
        finally:
            self.seconds = before
        return True

    def is_pooled(self) -> bool:
        """True if a pooler may run each statement in another server process, so that none may be prepared."""
        row = self.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
        return row is None or row[0] != self.info.backend_pid

    def __del__(self, _warn: object = None, /) -> None:
        """A connection that ends with the process is not worth a warning."""
