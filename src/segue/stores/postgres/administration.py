"""What those who run the server do: look at it, create the tables, let roles use them, add spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.administration import ServerInfo, Space, TableChanges
from segue.errors import ConflictError, NotFoundError
from segue.stores.postgres.address import check_space
from segue.stores.postgres.migrations import LOCK, NEWEST, create_tables, script_of
from segue.stores.postgres.rights import CHANGED, READ, UPDATED, grants_to_read, grants_to_write, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.stores.postgres.driver import TimedConnection
    from segue.stores.postgres.tables import Tables

# None of these needs a right: it works before the role has any.
_SERVER = """
    SELECT current_setting('server_version'), pg_is_in_recovery(), current_user::text,
        (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %(schema)s),
        coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = %(schema)s),
            has_database_privilege(current_database(), 'CREATE'))"""
_TABLES = """
    SELECT relname::text, NOT row_security_active(c.oid), has_table_privilege(c.oid, 'SELECT'),
        has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'DELETE'),
        has_table_privilege(c.oid, 'UPDATE')
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname = %(schema)s AND relname = ANY(%(names)s)"""
_ROLES = "SELECT rolname::text FROM pg_roles WHERE rolname = ANY(%s)"
_VERSION = "SELECT number FROM {s}.migrations ORDER BY number DESC LIMIT 1"
_SPACES = "SELECT name, role::text FROM {s}.spaces ORDER BY number"
_ADD_SPACE = """
    INSERT INTO {s}.spaces (number, name, role)
    SELECT 1 + max(number), %s, %s FROM {s}.spaces"""
_SIZE = """
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %(schema)s AND relkind = 'r'"""


class PostgresAdministration:
    """See administration.Administration."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._schema = tables.address.schema

    def describe(self) -> ServerInfo:
        values = {"schema": self._schema, "names": list(READ)}
        with self._tables.connections.use("look at the server") as connection:
            version, is_standby, role, may_use, can_create = connection.execute(_SERVER, values).fetchone() or ()
            tables = {name: rights for name, *rights in connection.execute(_TABLES, values)}
            can_read = bool(may_use) and _all_have(tables, READ, 1)
            number = connection.execute(self._text(_VERSION)).fetchone() if can_read else None
            spaces = connection.execute(self._text(_SPACES)).fetchall() if can_read else []
            is_pooled, is_encrypted = connection.is_pooled(), connection.pgconn.ssl_in_use
        return ServerInfo(
            server=f"Postgres {version}",
            is_standby=is_standby,
            is_pooled=is_pooled,
            is_encrypted=is_encrypted,
            role=role,
            sees_all_spaces=_all_have(tables, READ, 0),
            can_read=can_read,
            can_write=can_read and _all_have(tables, CHANGED, 2) and _all_have(tables, UPDATED, 3),
            can_create=can_create,
            schema=self._schema,
            has_tables=bool(tables),
            version=number[0] if number is not None else None,
            newest_version=NEWEST,
            space=self._tables.address.space,
            spaces=tuple(Space(name=name, role=role) for name, role in spaces),
        )

    def create(self, *, readers: Sequence[str] = (), writers: Sequence[str] = ()) -> TableChanges:
        with self._tables.connections.use("look at the roles") as connection:
            _check_roles(connection, *readers, *writers)
        grants = self._grants(readers, writers)
        before = create_tables(self._tables.connections, self._tables.address, grants)
        return TableChanges(before=before, version=max(before or 0, NEWEST), grants=grants)

    def script(self, *, readers: Sequence[str] = (), writers: Sequence[str] = (), after: int | None = None) -> str:
        return script_of(self._schema, self._grants(readers, writers), after=after or 0)

    def add_space(self, name: str, role: str) -> bool:
        check_space(name)
        with self._tables.connections.use(f"add the space {name}") as connection, connection.transaction():
            connection.execute(LOCK)
            _check_roles(connection, role)
            known = dict(connection.execute(self._text(_SPACES)).fetchall())
            if name not in known:
                connection.execute(self._text(_ADD_SPACE), (name, role))
                return True
        if known[name] != role:
            raise ConflictError(
                f"there is a space {name} already, for {known[name] or 'everyone'}", hint="choose another name"
            )
        return False

    def size_bytes(self) -> int:
        """What the tables of all spaces take, with their indexes."""
        rows = self._tables.ask("look at the sizes of the tables", _SIZE, schema=self._schema)
        return int(rows[0][0])

    def _grants(self, readers: Sequence[str], writers: Sequence[str]) -> tuple[str, ...]:
        return (
            *(grant for role in readers for grant in grants_to_read(self._schema, role)),
            *(grant for role in writers for grant in grants_to_write(self._schema, role)),
        )

    def _text(self, text: str) -> str:
        return text.replace("{s}", quoted(self._schema))


def _all_have(tables: dict[str, list[bool]], names: Sequence[str], right: int) -> bool:
    return all(name in tables and tables[name][right] for name in names)


def _check_roles(connection: TimedConnection, *roles: str) -> None:
    known = {name for (name,) in connection.execute(_ROLES, (list(roles),))}
    for role in roles:
        if role not in known:
            raise NotFoundError(f"there is no role {role!r:.80}", hint=f"create it with CREATE ROLE {quoted(role):.80}")
