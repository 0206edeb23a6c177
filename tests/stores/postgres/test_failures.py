from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import pytest

import segue
from segue.errors import DiskFullError, ReadOnlyError, SegueError, StorageError, TooLargeError
from segue.stores.postgres.address import parse_address
from segue.stores.postgres.connections import Connections
from segue.stores.postgres.failures import (
    ConnectError,
    DuplicateError,
    LostAnswerError,
    MissingTablesError,
    StatementError,
)
from tests.support.postgres import DATABASE, PASSWORD_USERS, PostgresServer, free_port
from tests.support.postgres_pretender import PostgresPretender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = "s3cret-s3cret"  # noqa: S105 - not one


def failure(url: str, statement: str = "SELECT 1", doing: str = "list the sessions") -> SegueError:
    """The error of one statement; whatever it is, it has one line, a hint, and no password anywhere."""
    connections = Connections(parse_address(url))
    try:
        with pytest.raises(SegueError) as failed:
            connections.execute(doing, statement, retry=False)
    finally:
        connections.close()
    error = failed.value
    everything = "".join(traceback.format_exception(error, chain=True)) + repr(error) + error.hint + repr(vars(error))
    assert SECRET not in everything
    assert "\n" not in f"{error}{error.hint}"
    assert error.hint
    assert "psycopg" not in f"{error}{error.hint}"
    return error


@pytest.fixture
def role(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[Callable[..., str]]:
    """Make roles; all are dropped with what they own."""
    made: list[str] = []

    def make(name: str, attributes: str = "LOGIN") -> str:
        made.append(f"{name}_{postgres_schema}")
        postgres_server.execute(f'CREATE ROLE "{made[-1]}" {attributes}')
        return made[-1]

    yield make
    for name in made:
        postgres_server.execute(f'DROP OWNED BY "{name}" CASCADE')
        postgres_server.execute(f'DROP ROLE "{name}"')


# ── Connecting ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_wrong_or_missing_password_is_named_as_such(
    postgres_server: PostgresServer, role: Callable[..., str]
) -> None:
    user = role("alice", f"LOGIN PASSWORD 'right' IN ROLE {PASSWORD_USERS}")
    place = f"127.0.0.1:{postgres_server.port}/{DATABASE}"
    error = failure(f"postgresql://{user}:{SECRET}@{place}")
    assert str(error) == (
        f"cannot connect to postgresql://{user}@{place}: the server did not accept the user or the password"
    )
    assert error.hint == "check the user and the password, also in ~/.pgpass and PGPASSWORD"
    assert isinstance(error, ConnectError)
    assert error.is_permanent
    error = failure(f"postgresql://{user}@{place}")
    assert str(error).endswith(": the server asks for a password, and there is none")


def test_an_unknown_role_or_database_is_named(postgres_server: PostgresServer) -> None:
    place = f"127.0.0.1:{postgres_server.port}"
    error = failure(f"postgresql://nobody:{SECRET}@{place}/{DATABASE}")
    assert str(error) == f'cannot connect to postgresql://nobody@{place}/{DATABASE}: role "nobody" does not exist'
    error = failure(f"postgresql://postgres:{SECRET}@{place}/mis%20sing")
    assert str(error).endswith(': database "mis sing" does not exist')
    assert error.hint == "create it, or correct its name after the host in the URL"


def test_hosts_ports_and_sockets_where_nothing_listens_are_named() -> None:
    error = failure(f"postgresql://alice:{SECRET}@host.invalid/x")
    assert str(error).startswith("cannot connect to postgresql://alice@host.invalid/x: failed to resolve host")
    assert "check the host" in error.hint
    port = free_port()
    error = failure(f"postgresql://alice:{SECRET}@127.0.0.1:{port}/x")
    assert str(error) == f"cannot connect to postgresql://alice@127.0.0.1:{port}/x: Connection refused"
    error = failure(f"postgresql://alice:{SECRET}@127.0.0.1:{port},127.0.0.1:{port}/x")
    assert str(error).endswith(": Connection refused")
    error = failure(f"postgresql://alice:{SECRET}@%2Fnowhere/x")
    assert str(error) == "cannot connect to postgresql://alice@%2Fnowhere/x: No such file or directory"
    assert "socket" in error.hint


def test_encryption_that_the_server_does_not_offer_is_explained(postgres_server: PostgresServer) -> None:
    place = f"127.0.0.1:{postgres_server.port}/{DATABASE}?sslmode=require"
    error = failure(f"postgresql://postgres:{SECRET}@{place}")
    assert str(error).endswith(": server does not support SSL, but SSL was required")
    assert "sslmode" in error.hint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("colour=blue", 'invalid connection option "colour"'),
        ("sslmode=blue", 'invalid sslmode value: "blue"'),
        ("service=nowhere", 'definition of service "nowhere" not found'),
        ("port=99999", 'invalid port number: "99999"'),
    ],
)
def test_parameters_that_libpq_does_not_know_are_named(options: str, message: str) -> None:
    error = failure(f"postgresql://alice:{SECRET}@127.0.0.1/x?{options}")
    assert str(error).endswith(f": {message}")


def test_a_role_that_may_not_connect_is_told_the_grant(
    postgres_server: PostgresServer, role: Callable[..., str]
) -> None:
    user = role("carol")
    postgres_server.execute("CREATE DATABASE closed")
    try:
        postgres_server.execute("REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
        error = failure(f"postgresql://{user}@127.0.0.1:{postgres_server.port}/closed")
        assert str(error).endswith(': permission denied for database "closed"')
        assert error.hint == f'an administrator can run: GRANT CONNECT ON DATABASE "closed" TO "{user}"'
    finally:
        postgres_server.execute("DROP DATABASE closed")
    user = role("group", "NOLOGIN")
    error = failure(f"postgresql://{user}@127.0.0.1:{postgres_server.port}/{DATABASE}")
    assert error.hint == f'an administrator can run: ALTER ROLE "{user}" LOGIN'


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        ("53300", "sorry, too many clients already", "PgBouncer"),
        ("28000", 'no pg_hba.conf entry for host "10.0.0.9", user "a", database "x", no encryption', "pg_hba.conf"),
        ("28000", 'pg_hba.conf rejects connection for host "10.0.0.9"', "pg_hba.conf"),
        ("57P03", "the database system is not yet accepting connections", "try again when the server is up"),
        ("XX000", "\u001b[31mmalformed\u0007\nin two lines", "check the URL, the network and the server"),
    ],
)
def test_what_a_server_answers_instead_of_a_connection_is_explained(code: str, message: str, hint: str) -> None:
    with PostgresPretender(error=(code, message)) as server:
        error = failure(f"postgresql://alice:{SECRET}@127.0.0.1:{server.port}/x")
    assert str(error).endswith(f": {message.partition(chr(10))[0]}")
    assert hint in error.hint


def test_a_server_that_is_starting_up_is_waited_for() -> None:
    with PostgresPretender(error=("57P03", "the database system is starting up")) as server:
        error = failure(f"postgresql://alice:{SECRET}@127.0.0.1:{server.port}/x?timeout=200ms")
        assert str(error).endswith(": the database system is starting up")
        assert server.connections > 1


def test_a_server_that_is_too_old_is_refused_before_anything_is_asked() -> None:
    with PostgresPretender(version="13.22") as server:
        error = failure(f"postgresql://alice:{SECRET}@127.0.0.1:{server.port}/x")
        assert str(error) == f"postgresql://alice@127.0.0.1:{server.port}/x is Postgres 13, which is too old"
        assert error.hint == "use Postgres 14 or newer"
        assert server.statements == 0


def test_what_is_not_a_postgres_server_is_recognized() -> None:
    with PostgresPretender(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        error = failure(f"postgresql://alice:{SECRET}@127.0.0.1:{server.port}/x")
    assert "what answers there is not a Postgres server" in error.hint


def test_a_password_that_a_message_repeats_is_hidden() -> None:
    with PostgresPretender(error=("28P01", f"{SECRET} is wrong")) as server:
        error = failure(f"postgresql://alice:{SECRET}@127.0.0.1:{server.port}/x")
    assert str(error).endswith(": *** is wrong")


# ── Rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_missing_right_names_the_grants_that_give_it_and_no_more(
    postgres_server: PostgresServer, postgres_schema: str, role: Callable[..., str]
) -> None:
    user, schema = role("Dave"), postgres_schema
    with segue.open(postgres_server.url(schema)) as library:
        library.create(title="Login").close()
    url = postgres_server.url(schema, user=user)
    # Our own names in both.
    reading, writing = f"TABLE {schema}.sessions", f"DELETE FROM {schema}.sessions"  # noqa: S608

    def grants(statement: str) -> list[str]:
        error = failure(url, statement, "append to session x")
        assert str(error).startswith("cannot append to session x: permission denied for ")
        assert isinstance(error, StorageError)
        return error.hint.removeprefix("an administrator can run: ").split("; ")

    assert grants(reading)[0] == f'GRANT USAGE ON SCHEMA "{schema}" TO "{user}"'
    for grant in grants(reading):
        postgres_server.execute(grant)
    connections = Connections(parse_address(url))
    assert len(connections.execute("read", reading, retry=True)) == 1
    for grant in grants(writing):
        postgres_server.execute(grant)
    assert connections.execute("write", writing, retry=False) == []
    # Who may use a space is not for those who write to decide.
    with pytest.raises(StatementError, match="permission denied for table spaces"):
        connections.execute("write", f"DELETE FROM {schema}.spaces", retry=False)  # noqa: S608
    connections.close()


def test_the_right_to_create_tables_is_named(
    postgres_server: PostgresServer, postgres_schema: str, role: Callable[..., str]
) -> None:
    user = role("erin")
    connections = Connections(parse_address(postgres_server.url(postgres_schema, user=user)))
    with pytest.raises(StatementError) as refused, connections.use("create the tables") as connection:
        connection.execute(f"CREATE SCHEMA {postgres_schema}")
    assert refused.value.hint == f'an administrator can run: GRANT CREATE ON DATABASE "{DATABASE}" TO "{user}"'
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema}")
    with pytest.raises(StatementError) as refused, connections.use("create the tables") as connection:
        connection.execute(f"CREATE TABLE {postgres_schema}.x ()")
    hint = f'an administrator can run: GRANT USAGE, CREATE ON SCHEMA "{postgres_schema}" TO "{user}"'
    assert refused.value.hint == hint
    connections.close()


def test_a_row_of_another_space_is_refused_with_what_to_do(
    postgres_server: PostgresServer, postgres_schema: str, role: Callable[..., str]
) -> None:
    user = role("frank")
    table = f"{postgres_schema}.sessions"
    for statement in (
        f"CREATE SCHEMA {postgres_schema}",
        f"CREATE TABLE {table} (space int)",
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"GRANT USAGE ON SCHEMA {postgres_schema} TO {user}",
        f"GRANT ALL ON {table} TO {user}",
    ):
        postgres_server.execute(statement)
    insert = f"INSERT INTO {table} VALUES (1)"  # noqa: S608 - our own name
    error = failure(postgres_server.url(postgres_schema, user=user), insert)
    assert "row-level security" in str(error)
    assert "member of the space" in error.hint


def test_a_role_that_only_reads_is_told_so(postgres_server: PostgresServer, role: Callable[..., str]) -> None:
    user = role("grace")
    postgres_server.execute(f"ALTER ROLE {user} SET default_transaction_read_only = on")
    error = failure(postgres_server.url(None, user=user), "CREATE TABLE public.x ()", "create a session")
    assert isinstance(error, ReadOnlyError)
    assert str(error).startswith("cannot create a session: ")
    assert "target_session_attrs=read-write" in error.hint


# ── Statements ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("code", "kind", "hint"),
    [
        ("53100", DiskFullError, "make room"),
        ("53200", StatementError, "out of memory"),
        ("53300", StatementError, "connections"),
        ("54000", TooLargeError, "smaller"),
        ("58030", StatementError, "disk"),
        ("57014", StatementError, "statement_timeout"),
        ("55P03", StatementError, "locked"),
        ("XX001", StatementError, "damaged"),
        ("XX002", StatementError, "REINDEX"),
        ("3F000", MissingTablesError, "schema"),
        ("42P01", MissingTablesError, "schema"),
        ("23505", DuplicateError, "check"),
        ("P0001", StatementError, "log"),
        ("57P01", LostAnswerError, "may or may not"),
        ("08006", LostAnswerError, "may or may not"),
    ],
)
def test_every_code_of_the_server_becomes_the_error_that_a_caller_can_act_on(
    postgres_server: PostgresServer, postgres_schema: str, code: str, kind: type[SegueError], hint: str
) -> None:
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema}")
    postgres_server.execute(
        f"CREATE FUNCTION {postgres_schema}.fail() RETURNS int LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION 'first\nsecond {SECRET}' USING ERRCODE = '{code}'; END $$"
    )
    url = f"{postgres_server.url(postgres_schema)}&password={SECRET}"
    error = failure(url, f"SELECT {postgres_schema}.fail()", "append to session x")
    assert type(error) is kind
    assert "append to session x" in str(error)
    assert hint in error.hint
    assert isinstance(error, StorageError)
    assert error.path == parse_address(url).url
    assert not isinstance(error, StatementError) or error.sqlstate == code
