"""Creates the tables, once, when the first session is created; tells whether this version can use those there are."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from psycopg import sql

from segue.errors import NotFoundError, OutdatedStoreError, ReadOnlyError, StorageError
from segue.stores.postgres.failures import UNDEFINED_COLUMN, MissingTablesError, StatementError
from segue.stores.postgres.rights import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from psycopg import Connection

    from segue.stores.postgres.address import Address
    from segue.stores.postgres.connections import Connections

LOCK = f"SELECT pg_catalog.pg_advisory_xact_lock({0x5E60E})"
"""One process creates the tables while the others wait."""


_END_LEASES = """
    UPDATE sessions SET fence = fence + 1, lease_until = NULL, owner_token = NULL, owner_pid = NULL, owner_host = NULL,
        owner_process = NULL, owned_since = NULL WHERE lease_until IS NOT NULL"""
"""A writer of a version that may not write any more has to open its session again, and is refused."""
_OWNS = "SELECT 1 FROM pg_class WHERE oid = 'sessions'::regclass AND pg_has_role(relowner, 'USAGE')"


class Migration(NamedTuple):
    number: int
    name: str
    statements: str
    needed_to_read: int
    """A program must know at least this migration to read once this one is applied; likewise to write."""
    needed_to_write: int


_NEEDED = {1: (1, 1), 2: (1, 1)}
"""By migration: see `Migration`. An additive one needs no more than the one before."""
NEWEST = max(_NEEDED)


class Place(NamedTuple):
    """Where the sessions of a store are: tables that exist, and the number of its space."""

    space: int
    writable: bool
    """False if a newer version has changed the tables so that this one may only read."""


def iter_migrations() -> Iterator[Migration]:
    folder = files("segue.stores.postgres") / "schema" / "migrations"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        number, _, name = file.name.removesuffix(".sql").partition("_")
        yield Migration(int(number), name, file.read_text(encoding="utf-8"), *_NEEDED[int(number)])


def find_place(connections: Connections, address: Address) -> Place | None:
    """Look for the tables, and read nothing else; None if there are none yet."""
    statement = sql.SQL(
        "SELECT max(number), max(needed_to_read), max(needed_to_write),"
        " (SELECT number FROM {schema}.spaces WHERE name = %s) FROM {schema}.migrations"
    ).format(schema=sql.Identifier(address.schema))
    try:
        rows = connections.execute("look for the tables of Segue", statement.as_string(), (address.space,), retry=True)
    except MissingTablesError:
        return None
    except StatementError as error:
        if error.sqlstate != UNDEFINED_COLUMN:
            raise
        raise StorageError(
            f"{address.url}: the table migrations in the schema {address.schema} belongs to another program",
            hint="use a schema of its own: add schema=NAME to the URL",
            path=address.url,
        ) from None
    newest, to_read, to_write, space = rows[0]
    if newest is None:
        return None
    return _check(address, newest, to_read, to_write, space)


def create_tables(connections: Connections, address: Address, grants: Sequence[str] = ()) -> int | None:
    """Apply what is missing, in one transaction, and these GRANTs. Of many that begin at the same moment, one does it.

    Returns the version of the tables before; None if there were none.
    """

    def apply(connection: Connection) -> int | None:
        connection.execute(LOCK)
        if not _exists(connection, "SELECT 1 FROM pg_namespace WHERE nspname = %s", address.schema):
            connection.execute(_create_schema(address.schema))
        connection.execute(_search_path(address.schema))
        found = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'migrations'"
        applied = set()
        if _exists(connection, found, address.schema):
            applied = {number for (number,) in connection.execute("SELECT number FROM migrations")}
        for migration in iter_migrations():
            if migration.number not in applied:
                for statement in _steps(migration):
                    connection.execute(statement, prepare=False)
        if grants and not _exists(connection, _OWNS):  # the server would only warn
            raise StorageError(
                f"cannot grant rights on {address.url}: this role does not own the tables",
                hint=f"connect as the owner of the schema {quoted(address.schema)}",
            )
        for grant in grants:
            connection.execute(grant, prepare=False)
        return max(applied, default=None)

    return connections.transact("create the tables of Segue", apply)


def script_of(schema: str, grants: Sequence[str] = (), *, after: int = 0) -> str:
    """The same as one text for an administrator, for an empty database or after a version."""
    missing = [migration for migration in iter_migrations() if migration.number > after]
    begin = ["BEGIN", LOCK, *([] if after else [_create_schema(schema, "IF NOT EXISTS ")]), _search_path(schema)]
    tables = [text for migration in missing for text in _steps(migration)]
    return "\n".join([f"{text.strip().removesuffix(';')};" for text in (*begin, *tables, *grants, "COMMIT")]) + "\n"


def _create_schema(schema: str, condition: str = "") -> str:
    return f"CREATE SCHEMA {condition}{quoted(schema)}"


def _search_path(schema: str) -> str:
    """The names of the tables mean those of this schema, and nobody's temporary ones."""
    return f"SET LOCAL search_path = {quoted(schema)}, pg_temp"


def _steps(migration: Migration) -> Iterator[str]:
    yield migration.statements
    yield _record(migration)
    if migration.needed_to_write == migration.number > 1:
        yield _END_LEASES


def _record(migration: Migration) -> str:
    values = f"({migration.number}, '{migration.name}', {migration.needed_to_read}, {migration.needed_to_write})"
    return f"INSERT INTO migrations (number, name, needed_to_read, needed_to_write) VALUES {values}"  # noqa: S608 - ours


def _check(address: Address, newest: int, to_read: int, to_write: int, space: int | None) -> Place:
    if to_read > NEWEST:
        raise StorageError(
            f"{address.url} was made by a newer version of Segue (tables of version {newest}, this one knows {NEWEST})",
            hint="install a newer segue",
        )
    if newest < NEWEST:
        raise OutdatedStoreError(
            f"{address.url} was made by an older version of Segue (tables of version {newest}; {NEWEST} is needed)",
            hint="upgrade its tables first",
        )
    if space is None:
        raise NotFoundError(
            f"{address.url}: there is no space {address.space!r}, or this role is not a member of it",
            hint="ask the owner of the database to add it",
        )
    return Place(space, writable=to_write <= NEWEST)


def check_no_space(address: Address) -> None:
    """NotFoundError if the URL names a space, which tables that are only now created cannot have."""
    if address.space:
        raise NotFoundError(
            f"{address.url}: there is no space {address.space!r}, because there are no tables yet",
            hint="ask the owner of the database to create the tables and to add it",
        )


def check_writable(place: Place, address: Address) -> None:
    if not place.writable:
        raise ReadOnlyError(
            f"{address.url} was changed by a newer version of Segue",
            hint="its sessions can be read; install a newer segue to write",
        )


def _exists(connection: Connection, statement: str, *values: object) -> bool:
    return connection.execute(statement, values).fetchone() is not None
