"""The errors of the driver and the server as errors of Segue: what happened, and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.errors import DiskFullError, ReadOnlyError, StorageError, TooLargeError
from segue.stores.postgres.rights import grants_to_read, grants_to_write, quoted

if TYPE_CHECKING:
    import psycopg

    from segue.errors import SegueError
    from segue.stores.postgres.address import Address

OLDEST_SERVER = 14
"""The oldest major version of Postgres that is supported."""

RETRIED = frozenset({"40001", "40P01"})
"""The server rolled the statement back and asks to repeat it: serialization failure, deadlock."""
_READ_ONLY = "25006"
_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE)\b")
_NUMBER = re.compile(r"\[Errno -?\d+\] ")
_OWNED = frozenset({"migrations", "spaces"})
"""The tables that only their owner changes."""
_OBJECT = re.compile(r"permission denied for (?P<kind>\w+(?: \w+)?) (?P<name>\S+)")
UNDEFINED_COLUMN = "42703"
_MISSING_TABLES = frozenset({"3F000", "42P01"})
_HINTS = {
    "3F000": "check the name of the schema in the URL",
    "42P01": "check the name of the schema in the URL",
    "42P07": "another program has tables in this schema; use a schema of its own: add schema=NAME to the URL",
    "53200": "the server is out of memory; try again later",
    "53300": "close other clients, or raise the limit of connections",
    "55P03": "another client has locked it; try again",
    "57014": "try again, or raise the limits statement_timeout and lock_timeout of the role",
    "58030": "check the disk and the log of the server",
    "58P01": "check the disk and the log of the server",
    "XX001": "the server reports damaged data; check its disk and its log",
    "XX002": "the server reports a damaged index; REINDEX it",
}


class LostAnswerError(StorageError):
    """The connection broke after the statement may have reached the server: it may or may not have been carried out."""


class StatementError(StorageError):
    """The server refused a statement; it changed nothing."""

    def __init__(self, message: str, *, hint: str, path: str, sqlstate: str = "", constraint: str = "") -> None:
        super().__init__(message, hint=hint, path=path)
        self.sqlstate = sqlstate
        """The code of the server, as in 23505."""
        self.constraint = constraint
        """The name of the constraint that it violates; empty if it is about something else."""


class MissingTablesError(StatementError):
    """The schema or a table does not exist: nothing was ever stored, or by an older or newer version."""


class MissingRightError(StatementError):
    """The role has not been granted what the statement needs."""

    def __init__(self, message: str, *, role: str, **fields: str) -> None:
        super().__init__(message, **fields)
        self.role = role


class DuplicateError(StatementError):
    """There is a row with this key already."""


class ConnectError(StorageError):
    """There is no connection to the server; nothing was sent."""

    def __init__(
        self, message: str, *, hint: str, path: str, is_permanent: bool = False, is_starting: bool = False
    ) -> None:
        super().__init__(message, hint=hint, path=path)
        self.is_starting = is_starting
        """True if the server is there, but does not accept connections, or writes, yet."""
        self.is_permanent = is_permanent
        """True if another attempt would fail in the same way."""


class _Cause(NamedTuple):
    """Why there is no connection, found by the text: libpq reports no code."""

    pattern: str
    hint: str
    """Empty where a right is missing: its statement is the hint."""
    meaning: str = ""
    """Shown instead of the text."""
    is_permanent: bool = False


_CAUSES = (
    _Cause(
        r"no password supplied",
        "add it to ~/.pgpass, PGPASSWORD or the URL",
        meaning="the server asks for a password, and there is none",
        is_permanent=True,
    ),
    _Cause(
        r"authentication failed|password authentication",
        "check the user and the password, also in ~/.pgpass and PGPASSWORD",
        meaning="the server did not accept the user or the password",
        is_permanent=True,
    ),
    _Cause(r'role "[^"]*" does not exist', "check the user in the URL, or create the role", is_permanent=True),
    _Cause(
        r'database "[^"]*" does not exist',
        "create it, or correct its name after the host in the URL",
        is_permanent=True,
    ),
    _Cause(r"permission denied for database|is not permitted to log in|no such database", "", is_permanent=True),
    _Cause(
        r"no pg_hba\.conf entry|pg_hba\.conf rejects",
        "allow this host, user and database in pg_hba.conf of the server, or try sslmode=require",
        is_permanent=True,
    ),
    _Cause(
        r"resolve host|translate host name|Name or service not known|nodename nor servname",
        "check the host in the URL and the network",
    ),
    _Cause(r"refused", "check the host and the port, and that the server runs and listens there"),
    _Cause(r"No such file or directory", "check the folder of the socket, and that the server runs"),
    _Cause(r"starting up|shutting down|in recovery|not yet accepting|not accepting", "try again when the server is up"),
    _Cause(
        r"too many clients|too many connections|connection slots|no more connections|max_client_conn",
        "close other clients, raise max_connections, or use a pooler such as PgBouncer",
    ),
    _Cause(
        r"session is read-only|hot standby|session is not read-only|not in hot standby",
        "check target_session_attrs and the hosts; after a failover, try again",
    ),
    _Cause(
        r"invalid response|unsupported frontend protocol",
        "check the host and the port: what answers there is not a Postgres server",
        is_permanent=True,
    ),
    _Cause(r"SSL SYSCALL|closed unexpectedly|closed the connection", "try again; the log of the server may have more"),
    _Cause(
        r"certificate|SSL|TLS|sslmode",
        "check sslmode and sslrootcert in the URL, and the certificate of the server",
        is_permanent=True,
    ),
    _Cause(
        r"invalid connection option|invalid \w+ value|invalid port|service|bad value|could not match",
        "correct the URL or the service file",
        is_permanent=True,
    ),
    _Cause(r"timeout expired|in time", "check the host, the port and the firewalls between"),
)


def connect_error(error: psycopg.Error | OSError, address: Address) -> ConnectError:
    """The error for a connection that could not be made."""
    text = _message(error, address)
    unknown = _Cause("", "check the URL, the network and the server")
    cause = next((one for one in _CAUSES if re.search(one.pattern, text)), unknown)
    return ConnectError(
        f"cannot connect to {address.url}: {cause.meaning or text}",
        hint=cause.hint or _login_hint(text, address),
        path=address.url,
        is_permanent=cause.is_permanent,
        is_starting="starting up" in text or _has_only_standbys(error, address),
    )


def _has_only_standbys(error: psycopg.Error | OSError, address: Address) -> bool:
    """True if one of several hosts is a standby, and none the primary: it is about to be promoted."""
    is_standby = re.search(r"session is read-only|server is in hot standby mode", str(error))
    return address.wants_primary and address.hosts > 1 and is_standby is not None


def check_server(version: int, address: Address) -> None:
    """Refuse a server that is too old; `version` as libpq reports it, for example 150018."""
    if (major := version // 10_000) < OLDEST_SERVER:
        raise StorageError(
            f"{address.url} is Postgres {major}, which is too old",
            hint=f"use Postgres {OLDEST_SERVER} or newer",
            path=address.url,
        )


def statement_error(
    error: psycopg.Error | OSError, address: Address, doing: str, *, role: str = "", statement: str = ""
) -> SegueError:
    """The error for a statement that the server refused or could not carry out."""
    code = getattr(error, "sqlstate", None) or ""
    text = _message(error, address)
    where = address.url
    match code:
        case "25006":  # _READ_ONLY
            return ReadOnlyError(
                f"cannot {doing}: {where} is read-only (a standby, or a role that may only read)",
                hint="name the primary, or add target_session_attrs=read-write to the URL",
                path=where,
            )
        case "53100":
            return DiskFullError(f"cannot {doing}: the disk of the server is full", hint="make room on it", path=where)
        case "54000" | "54001" | "54011" | "54023" | "22026":
            return TooLargeError(
                f"cannot {doing}: it is too large for the database ({text})", hint="make it smaller", path=where
            )
    if code == "42501":
        hint = _grant_hint(text, address, role, statement)
        return MissingRightError(f"cannot {doing}: {text}", role=role, hint=hint, path=where, sqlstate=code)
    kind = MissingTablesError if code in _MISSING_TABLES else DuplicateError if code == "23505" else StatementError
    hint = _HINTS.get(code, "check the server and its log")
    constraint = getattr(getattr(error, "diag", None), "constraint_name", None) or ""
    return kind(f"cannot {doing}: {text}", hint=hint, path=where, sqlstate=code, constraint=constraint)


def lost_answer(error: psycopg.Error | OSError, address: Address, doing: str) -> LostAnswerError:
    """The error for a statement whose outcome is not known."""
    return LostAnswerError(
        f"the connection to {address.url} broke while waiting for the server to {doing}: {_message(error, address)}",
        hint="it may or may not have been carried out",
        path=address.url,
    )


def lost_connection(error: psycopg.Error | OSError, address: Address, doing: str) -> StorageError:
    """The error for a statement that changes nothing, or nothing more when it is repeated."""
    return StorageError(
        f"cannot {doing}: {address.url} cannot be reached any more ({_message(error, address)})",
        hint="check the network and the server, then try again",
        path=address.url,
    )


def too_busy(address: Address, most: int) -> StorageError:
    """The error when all connections of this process are in use for too long."""
    return StorageError(
        f"all {most} connections to {address.url} are in use", hint="try again, or use fewer threads", path=address.url
    )


def is_lost(error: psycopg.Error | OSError) -> bool:
    """True if the connection broke, so that the server may or may not have done what was asked."""
    import psycopg

    if isinstance(error, OSError):
        return True
    code = error.sqlstate or ""
    if code.startswith(("08", "57P")) or error.diag.severity_nonlocalized in {"FATAL", "PANIC"}:
        return True
    return not code and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def is_lost_statement(error: psycopg.Error | OSError) -> bool:
    """True if a prepared statement is not there, or one of another client is: a pooler that was not recognized."""
    return getattr(error, "sqlstate", None) in {"26000", "42P05"}


def is_about_preparing(error: psycopg.Error | OSError) -> bool:
    """True if a statement did nothing because it was prepared; unprepared, or on a new connection, it may succeed."""
    is_stale = getattr(error, "sqlstate", None) == "0A000" and "plan" in str(error)  # the tables have changed since
    return is_stale or is_lost_statement(error)


def is_on_standby(error: psycopg.Error | OSError) -> bool:
    """True if a statement that writes was sent to a server, or as a role, that only reads."""
    return getattr(error, "sqlstate", None) == _READ_ONLY


def _grant_hint(text: str, address: Address, role: str, statement: str) -> str:
    """The statements that give the missing right; `statement` is the one that was refused, if it is known."""
    user, schema = quoted(role), quoted(address.schema)
    if "row-level security" in text:
        return f"make the role a member of the space: GRANT the role of the space TO {user}"
    match = _OBJECT.search(text)
    kind, name = (match["kind"], match["name"].strip('"')) if match else ("", "")
    is_writing = not statement or bool(_WRITES.search(statement))
    if text.startswith("must be owner") or (is_writing and name in _OWNED):
        return f"connect as the owner of the schema {schema}"
    if kind == "database":
        return f"an administrator can run: GRANT CREATE ON DATABASE {quoted(name)} TO {user}"
    if not statement and kind == "schema":
        return f"an administrator can run: GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}"
    return grants_hint(address, role, is_writing=is_writing)


def grants_hint(address: Address, role: str, *, is_writing: bool) -> str:
    grants = grants_to_write(address.schema, role) if is_writing else grants_to_read(address.schema, role)
    return f"an administrator can run: {'; '.join(grants)}"


def _login_hint(text: str, address: Address) -> str:
    user = quoted(address.user) if address.user else "the role"
    if "log in" in text:
        return f"an administrator can run: ALTER ROLE {user} LOGIN"
    match = _OBJECT.search(text)
    database = quoted(match["name"].strip('"')) if match else "the database"
    return f"an administrator can run: GRANT CONNECT ON DATABASE {database} TO {user}"


def _message(error: psycopg.Error | OSError, address: Address) -> str:
    """What the driver or the server reported, in one line and without secrets."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    text = primary or str(error) or type(error).__name__
    for secret in address.secrets:
        text = text.replace(secret, "***")
    lines = [line.strip() for line in _NUMBER.sub("", text).splitlines() if line.strip()]
    text = re.sub(
        r"^(?:connection (?:failed|is bad): )?(?:connection to server .*? failed: )?(?:FATAL:\s+)?",
        "",
        lines[0] if lines else "",
    )
    return text or type(error).__name__
