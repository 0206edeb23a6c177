"""Functions and operators that another role has put in the way are never called.

Who may create objects in a schema that others search, as everyone may in `public` of older databases, could define
`unnest(text[])`: it fits better than `unnest(anyarray)` of the server, and would run as whoever calls it.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING

import psycopg
import pytest

from segue.queries import Filters
from segue.stores.journal import JournalStore
from segue.testing.events import START, every_kind, metadata, status, turn
from segue.transfer.convert_many import copy_all
from tests.support.postgres_teams import two_teams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer
    from tests.support.postgres_teams import Teams

ELEMENTS = ("text", "bigint", "integer", "bytea", "uuid", "boolean", "timestamptz")
ARRAYS = ("anyarray", "anycompatiblearray")
SCALARS = ("anyelement", "anynonarray", "anycompatible", "anycompatiblenonarray")
MOST_ARGUMENTS = 8
BODY = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'shadowed'; END $$"


def test_nothing_that_is_in_the_way_is_called(
    postgres_server: PostgresServer, postgres_schema: str, tmp_path: Path
) -> None:
    with two_teams(postgres_server, postgres_schema) as teams:
        set_traps(teams, f"{teams.schema}_traps")
        try:
            with teams.server.connect(user=teams.roles["bob"]) as connection:
                for call in ("unnest(ARRAY['x'])", "ARRAY['x'] @> ARRAY['x']", "concat_ws('a'::text, 'b'::text)"):
                    with pytest.raises(psycopg.Error, match="shadowed"):
                        connection.execute(f"SELECT {call}".encode())
            use_everything(teams, tmp_path)
        finally:
            postgres_server.execute(f"DROP SCHEMA {teams.schema}_traps CASCADE")


def set_traps(teams: Teams, schema: str) -> None:
    with teams.server.connect() as connection:
        statements = list(traps(connection, schema))
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute("; ".join(statements).encode())
        assert len(statements) > 500
    for kind in ("bob", "owner"):
        teams.server.execute(f"GRANT USAGE ON SCHEMA {schema} TO {teams.roles[kind]}")
        teams.server.execute(f"ALTER ROLE {teams.roles[kind]} SET search_path = {schema}")


def traps(connection: psycopg.Connection, schema: str) -> Iterator[str]:
    """For all functions and operators of the server that take any type: the same for each type that we use."""
    seen = set()
    functions = connection.execute(
        "SELECT proname, proargtypes::regtype[]::text[] FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace"
    )
    for name, kinds in functions.fetchall():
        for taken in _variants(kinds):
            if (name, taken) not in seen:
                seen.add((name, taken))
                yield f'CREATE FUNCTION {schema}."{name}"({", ".join(taken)}) RETURNS text {BODY}'
    for taken in {taken for _, taken in seen if len(taken) == 2}:
        yield f"CREATE OR REPLACE FUNCTION {schema}.trap({', '.join(taken)}) RETURNS boolean {BODY}"
    operators = connection.execute(
        "SELECT DISTINCT oprname, oprleft::regtype::text, oprright::regtype::text FROM pg_operator WHERE oprkind = 'b'"
    )
    made = set()
    for name, left, right in operators.fetchall():
        for taken in _variants([left, right]):
            if (name, taken) not in made:
                made.add((name, taken))
                yield f"CREATE OR REPLACE FUNCTION {schema}.trap({', '.join(taken)}) RETURNS boolean {BODY}"
                kinds = f"LEFTARG = {taken[0]}, RIGHTARG = {taken[1]}"
                yield f"CREATE OPERATOR {schema}.{name} ({kinds}, FUNCTION = {schema}.trap)"


def _variants(kinds: list[str]) -> Iterator[tuple[str, ...]]:
    if any(kind in {"internal", "cstring", "anyenum", "record"} or kind.endswith("range") for kind in kinds):
        return
    if '"any"' in kinds:
        given = tuple("text" if kind == '"any"' else kind for kind in kinds)
        yield from (given + ("text",) * more for more in range(MOST_ARGUMENTS - len(given)))
    elif any(kind in (*ARRAYS, *SCALARS) for kind in kinds):
        for one, is_row in product(ELEMENTS, (False, True)):
            taken = tuple(_taken(kind, one, is_row=is_row) for kind in kinds)
            yield taken


def _taken(kind: str, one: str, *, is_row: bool) -> str:
    if kind in ARRAYS:
        return f"{one}[]"
    if kind in SCALARS:
        return f"{one}[]" if is_row and kind in {"anyelement", "anycompatible"} else one
    return kind


def use_everything(teams: Teams, folder: Path) -> None:
    """Every statement of the store, for a role of one space and for the owner."""
    journal = JournalStore(str(folder))
    journal.create("copied", [metadata("copied"), *every_kind()]).close()
    for kind in ("bob", "owner"):
        store = teams.store(kind, "b")
        assert store.queries is not None
        with store.create(kind, [metadata(kind)]) as writer:
            writer.append(turn(1, "hello world"), turn(2))
            writer.append(turn(3))
            writer.append(*every_kind()[1:], status("completed"))
            blob = writer.put_blob(b"blob")
        store.open(kind).close()
        assert store.get_blob(kind, blob) == b"blob"
        assert store.load(kind).turn_count == len(list(store.tail(kind, 99)))
        assert [kind in [head.id for head in store.heads()], store.examine(kind).damages] == [True, ()]
        filters = [
            Filters(named="hello", tag="x", folder="/home", project="p", tool="t", agent="a", since=START),
            Filters(until=START + timedelta(days=1), status="interrupted", ids=(kind,), branch="main"),
            Filters(status="active"),
            Filters(),
        ]
        for one in filters:
            assert len(list(store.queries.list(one))) == store.queries.count(one)
            store.queries.search('hello "hello world" wor*', one, 5)
            store.queries.count_matches("hello", one)
        assert kind in store.queries.near_ids([kind[:2], kind[-2:]], 3)
        assert store.queries.turns(kind, branch="main")
        assert [*copy_all(journal, store, ["copied"]), *copy_all(store, journal, [kind])]
        store.trash.restore(store.trash.put(kind))
        store.trash.erase(store.trash.put(kind))
        damage(teams, "copied")
        store.recover("copied")
        assert [entry.head.id for entry in store.trash.entries()] == ["copied"]
        store.trash.erase(next(store.trash.entries()).key)
        store.delete("copied")
        assert store.administration.describe().server
        assert store.size_bytes()
        store.close()


def damage(teams: Teams, session_id: str) -> None:
    name = f"{teams.schema}.events"
    teams.server.execute(
        f"UPDATE {name} SET body = 'x' WHERE seq = 3 AND session ="  # noqa: S608 - ours
        f" (SELECT key FROM {teams.schema}.sessions WHERE id = %s)",
        [session_id],
    )
