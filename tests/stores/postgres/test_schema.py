"""The tables: what the migrations add up to, and who owns what is in them."""

from __future__ import annotations

import re
import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING

from segue.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

SCHEMA = files("segue.stores.postgres") / "schema" / "schema.sql"


def test_the_readable_schema_is_what_the_migrations_add_up_to(
    postgres_server: PostgresServer, postgres_schema: str, postgres_url: str
) -> None:
    PostgresStore(postgres_url).administration.create()
    migrated = dump(postgres_server, postgres_schema)
    postgres_server.execute(f"DROP SCHEMA {postgres_schema} CASCADE")
    run(postgres_server, postgres_schema, SCHEMA.read_text(encoding="utf-8"))
    assert dump(postgres_server, postgres_schema) == migrated
    assert "CREATE POLICY" in migrated


def test_the_script_for_an_administrator_does_the_same(
    postgres_server: PostgresServer, postgres_schema: str, postgres_url: str
) -> None:
    store = PostgresStore(postgres_url)
    run_script(postgres_server, store.administration.script())
    scripted = dump(postgres_server, postgres_schema, data=True)
    postgres_server.execute(f"DROP SCHEMA {postgres_schema} CASCADE")
    store.administration.create()
    assert dump(postgres_server, postgres_schema, data=True) == scripted


def dump(server: PostgresServer, schema: str, *, data: bool = False) -> str:
    command = [str(server.programs / "pg_dump"), *([] if data else ["-s"]), "-n", schema, "-d", server.dsn()]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    moments = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+00", "MOMENT", found)
    moments = re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "TOKEN", moments)
    return re.sub(r"^\\(?:un)?restrict .*$", "", moments, flags=re.MULTILINE)


def run(server: PostgresServer, schema: str, statements: str) -> None:
    with server.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        connection.execute(statements.encode())


def run_script(server: PostgresServer, script: str) -> None:
    """As an administrator does."""
    command = [str(server.programs / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-d", server.dsn()]
    subprocess.run(command, input=script, check=True, capture_output=True, text=True)
