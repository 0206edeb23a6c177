"""What users see when a Postgres store cannot be used: one line with what to do, and never a password."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

import segue
from segue.stores.postgres.rights import grants_to_read, grants_to_write
from tests.support.postgres import DATABASE, PASSWORD_USERS, PostgresServer, free_port
from tests.support.postgres_pretender import PostgresPretender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.cli import Result, Segue

SECRET = "s3cret%40s3cret"  # noqa: S105 - not one
PARTS = ("s3cret", "%40s3", "@s3")


def assert_hidden(cli: Segue, *results: Result) -> None:
    """The password is in nothing that was printed, and in no file."""
    for result in results:
        assert not any(part in result.text + result.complaint for part in PARTS), result
    for folder, _, names in os.walk(cli.home):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            assert not any(part.encode() in data for part in PARTS), name


def refused(cli: Segue, code: int, url: str, *, verbs: tuple[tuple[str, ...], ...] = (("list",), ("new",))) -> str:
    """The line that every verb prints about a store, with and without --json and SEGUE_DEBUG."""
    lines = set()
    for verb in verbs:
        plain = cli.call(*verb, "--store", url, SEGUE_DEBUG="1")
        assert (plain.code, plain.text, plain.complaint.count("\n")) == (code, "", 1), plain
        lines.add(plain.complaint.rstrip("\n").removeprefix("segue: "))
        as_json = cli.call(*verb, "--store", url, "--json")
        assert as_json.code == code
        error = json.loads(as_json.complaint)["error"]
        lines.add(f"{error['message']}; {error['hint']}")
        named = cli.call(*verb, SEGUE_STORE=url)
        assert (named.code, named.complaint) == (code, plain.complaint)
        assert_hidden(cli, plain, as_json, named)
    assert len(lines) == 1, lines
    return lines.pop()


@pytest.fixture
def role(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[Callable[[str], str]]:
    """Make roles with the password; all are dropped with what they own."""
    made: list[str] = []

    def make(name: str) -> str:
        made.append(f"{name}_{postgres_schema}")
        password = SECRET.replace("%40", "@")
        postgres_server.execute(f"CREATE ROLE {made[-1]} LOGIN PASSWORD '{password}' IN ROLE {PASSWORD_USERS}")
        return made[-1]

    yield make
    for name in made:
        postgres_server.execute(f"DROP OWNED BY {name} CASCADE")
        postgres_server.execute(f"DROP ROLE {name}")


def address(server: PostgresServer, user: str, schema: str, password: str = SECRET) -> str:
    return f"postgresql://{user}:{password}@127.0.0.1:{server.port}/{DATABASE}?schema={schema}"


def schemas(server: PostgresServer, schema: str) -> list[tuple[object, ...]]:
    return server.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema])


def test_a_wrong_password(
    cli: Segue, postgres_server: PostgresServer, postgres_schema: str, role: Callable[[str], str]
) -> None:
    user = role("alice")
    url = address(postgres_server, user, postgres_schema, f"{SECRET}x")
    shown = f"postgresql://{user}@127.0.0.1:{postgres_server.port}/{DATABASE}?schema={postgres_schema}"
    assert refused(cli, 6, url) == (
        f"cannot connect to {shown}: the server did not accept the user or the password; "
        "check the user and the password, also in ~/.pgpass and PGPASSWORD"
    )


def test_an_unknown_host_and_one_where_nothing_listens(cli: Segue) -> None:
    assert refused(cli, 6, f"postgresql://alice:{SECRET}@host.invalid/x") == (
        "cannot connect to postgresql://alice@host.invalid/x: failed to resolve host 'host.invalid': "
        "Name or service not known; check the host in the URL and the network"
    )
    port = free_port()
    assert "Connection refused; check the host and the port" in refused(
        cli, 6, f"postgres://alice:{SECRET}@127.0.0.1:{port}/x"
    )


def test_a_database_that_does_not_exist(cli: Segue, postgres_server: PostgresServer) -> None:
    assert refused(cli, 6, f"postgresql://postgres:{SECRET}@127.0.0.1:{postgres_server.port}/missing").endswith(
        ': database "missing" does not exist; create it, or correct its name after the host in the URL'
    )


def test_rights_that_are_missing_name_the_grant_and_nothing_is_created(
    cli: Segue, postgres_server: PostgresServer, postgres_schema: str, role: Callable[[str], str]
) -> None:
    user, schema = role("bob"), postgres_schema
    url = address(postgres_server, user, schema)
    result = cli.call("list", "--store", url)
    assert (result.code, result.text) == (0, "")
    assert result.complaint.startswith(f"segue: no sessions in postgresql://{user}@127.0.0.1")
    assert refused(cli, 6, url, verbs=(("new",),)) == (
        f"cannot create the tables of Segue: permission denied for database {DATABASE}; "
        f'an administrator can run: GRANT CREATE ON DATABASE "{DATABASE}" TO "{user}"'
    )
    assert schemas(postgres_server, schema) == []
    with segue.open(postgres_server.url(schema)) as library:
        session = library.create(title="Login").id
    for verb, grants in (("list", grants_to_read(schema, user)), ("new", grants_to_write(schema, user))):
        assert refused(cli, 6, url, verbs=((verb,),)).endswith(
            f": permission denied for schema {schema}; an administrator can run: {'; '.join(grants)}"
        )
    for grant in grants_to_read(schema, user):
        postgres_server.execute(grant)
    shown = cli.call("list", "--store", url)
    assert (shown.code, session in shown.text) == (0, True)
    assert refused(cli, 6, url, verbs=(("new", "--id", "refused"),)).endswith(
        f"an administrator can run: {'; '.join(grants_to_write(schema, user))}"
    )
    assert_hidden(cli, shown)


def test_a_server_that_is_too_old(cli: Segue) -> None:
    with PostgresPretender(version="13.22") as server:
        assert refused(cli, 6, f"postgresql://alice:{SECRET}@127.0.0.1:{server.port}/x") == (
            f"postgresql://alice@127.0.0.1:{server.port}/x is Postgres 13, which is too old; use Postgres 14 or newer"
        )
        assert server.statements == 0


def test_what_a_server_answers_reaches_the_terminal_escaped(cli: Segue) -> None:
    with PostgresPretender(error=("XX000", "a\u001b[2J\rb\nc")) as server:
        result = cli.call("list", "--store", f"postgresql://127.0.0.1:{server.port}/x")
    assert result.code == 6
    assert result.complaint.count("\n") == 1
    assert "\u001b" not in result.complaint
    assert "\r" not in result.complaint


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"postgresq://alice:{SECRET}@db/x", "'postgresq://alice:***@db/x' does not name a store"),
        (f"postgresql:alice:{SECRET}@db/x", "the URL of a Postgres database begins with postgresql://"),
        ("postgresql://alice:s3cret@s3cret@db/x", "the URL of a Postgres database has an @ or a / too many"),
        ("postgresql://alice:s3cret/s3cret@db/x", "the URL of a Postgres database has an @ or a / too many"),
        ("postgresql://alice:s3cret%@db/x", "the URL of the Postgres database has a % that is not followed by two"),
        (f"postgresql://alice:{SECRET}@db:x/x", "a port in the URL of the Postgres database is not a number"),
        (f"postgresql://alice:{SECRET}@db/x?schema=A-b", "'A-b' cannot be the name of the schema"),
        (f"postgresql://alice:{SECRET}@db/x?lease=soon", "lease='soon' in the URL is not a duration"),
    ],
)
def test_a_url_with_unexpected_characters(cli: Segue, url: str, message: str) -> None:
    assert refused(cli, 2, url).startswith(message)
    result = cli.call("convert", "--all", "--to", url)
    assert result.code == 2
    result_of_both = cli.call("convert", "x", "--all", "--to", url)
    assert result_of_both.code == 2
    assert_hidden(cli, result, result_of_both)


@pytest.mark.parametrize("setting", ['store = "{}"', 'stores = ["{}"]'])
def test_a_malformed_url_in_the_configuration_is_shown_without_its_password(cli: Segue, setting: str) -> None:
    config = cli.home / ".config" / "segue" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(setting.format(f"postgresq:alice:{SECRET}@db/x"))
    result = cli.call("list", SEGUE_STORE="")
    assert result.code == 2
    assert "config.toml" in result.complaint
    config.unlink()
    assert_hidden(cli, result)


def test_a_store_with_a_password_is_used_and_the_password_is_shown_and_stored_nowhere(
    cli: Segue, postgres_server: PostgresServer, postgres_schema: str, role: Callable[[str], str]
) -> None:
    user = role("carol")
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema} AUTHORIZATION {user}")
    url = address(postgres_server, user, postgres_schema)
    shown = f"postgresql://{user}@127.0.0.1:{postgres_server.port}/{DATABASE}?schema={postgres_schema}"
    calls = [
        ("new", "--id", "login"),
        ("add", "login", "hello"),
        ("list",),
        ("list", "--json"),
        ("show", "login"),
        ("search", "hello"),
        ("search", "hello", "--json"),
        ("export", "login"),
        ("show", "nothing"),
        ("convert", "--all", "--to", url),
        ("delete", "login", "--yes"),
        ("trash", "list"),
    ]
    results = [cli.call(*call, *(() if "--store" in call else ("--store", url))) for call in calls]
    assert [result.code for result in results] == [0, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0], results
    assert json.loads(results[3].text)[0]["store"] == shown
    assert results[9].complaint == f"segue: {shown} is the store of the sessions itself; use another one\n"
    assert_hidden(cli, *results)
    library = segue.open(url)
    assert repr(library) == f"<Library {shown}>"
    library.close()


def test_a_session_of_a_configured_store_with_a_password_is_found_again(
    cli: Segue, postgres_server: PostgresServer, postgres_schema: str, role: Callable[[str], str]
) -> None:
    user = role("dave")
    postgres_server.execute(f"CREATE SCHEMA {postgres_schema} AUTHORIZATION {user}")
    url = address(postgres_server, user, postgres_schema)
    config = cli.home / ".config" / "segue" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'stores = ["{url}", "postgresql://alice:{SECRET}@127.0.0.1:{free_port()}/x"]')
    assert cli.call("new", "--id", "login", "--store", url).code == 0
    found = cli.call("show", "-", SEGUE_STORE="")
    assert (found.code, "login" in found.text) == (0, True), found
    listed = cli.call("list", SEGUE_STORE="")
    assert (listed.code, "login" in listed.text) == (0, True)
    assert "was skipped: cannot connect to postgresql://alice@127.0.0.1" in listed.complaint
    config.unlink()
    assert_hidden(cli, found, listed)


def test_tables_of_a_newer_version_are_refused_before_anything_is_written(
    cli: Segue, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    url = postgres_server.url(postgres_schema)
    with segue.open(url) as library:
        library.create(title="Login").close()
    newer = f"INSERT INTO {postgres_schema}.migrations VALUES (99, 'later', 99, 99)"  # noqa: S608 - our own name
    postgres_server.execute(newer)
    assert "was made by a newer version of Segue" in refused(cli, 6, url, verbs=(("list",), ("new",), ("clean",)))


def test_without_the_driver_the_line_names_the_command_that_installs_it(cli: Segue) -> None:
    code = "import sys; sys.modules['psycopg'] = None; from segue.cli import main; sys.exit(main())"
    result = cli.python(code, "list", "--store", f"postgresql://alice:{SECRET}@db/x")
    assert (result.code, result.text) == (7, "")
    assert result.complaint == "segue: the Postgres driver is not installed; run: segue setup postgres\n"


def test_another_dialect_shows_no_password_either(cli: Segue) -> None:
    result = cli.call("gptel", "list", "--store", f"postgresql://alice:{SECRET}@db/x")
    assert result.code == 2
    assert "postgresql://alice:***@db/x is not a store of gptel sessions" in result.complaint
    assert_hidden(cli, result)
