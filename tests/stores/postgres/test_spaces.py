"""Spaces are walls: whoever is not in a space reads, finds, locks and deletes nothing there, whatever SQL he writes.

Alice has more rights than she needs: all that concern rows, on all tables and partitions, as a generous administrator
might grant them.
"""

# ruff: noqa: S608 - the names in the statements are ours

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from segue.errors import NotFoundError, SegueError
from segue.stores.postgres import PostgresStore
from segue.stores.postgres.migrations import Place
from segue.testing.events import metadata, turn
from tests.support.postgres_teams import SECRET, two_teams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer
    from tests.support.postgres_teams import Teams

ROWS = ("sessions", "events", "checkpoints", "blobs", "words")
PARTITIONS = tuple(f"{table}_{number}" for table in ("events", "words") for number in range(16))
THEIRS, BUSY = "theirs", "busy"
"""The sessions of team B; tests let Bob write to the second one."""
A, B = 1, 2


@pytest.fixture(scope="module")
def teams(postgres_server: PostgresServer) -> Iterator[Teams]:
    with two_teams(postgres_server, f"test_{uuid4().hex[:12]}") as teams:
        rights = "SELECT, INSERT, UPDATE, DELETE"
        postgres_server.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA {teams.schema} TO {teams.roles['alice']}")
        teams.add_session("alice", "a", "mine", "hello")
        teams.add_session("bob", "b", THEIRS, f"the {SECRET} is on", "keep it quiet")
        teams.add_session("bob", "b", BUSY)
        postgres_server.execute(
            f"INSERT INTO {teams.schema}.checkpoints SELECT space, key, seq, 'x' FROM {teams.schema}.sessions"
            f" WHERE id <> '{BUSY}'"
        )
        fill_words(teams)
        yield teams


@pytest.fixture
def alice(teams: Teams) -> Iterator[psycopg.Connection]:
    with teams.server.connect(user=teams.roles["alice"]) as connection:
        connection.execute(f"SET search_path = {teams.schema}")
        yield connection


@pytest.fixture(autouse=True)
def untouched(teams: Teams) -> Iterator[None]:
    """Nothing that a test does changes a row of team B, or which spaces there are."""
    before = contents(teams)
    yield
    assert contents(teams) == before


def fill_words(teams: Teams) -> None:
    columns = {
        "space": "space",
        "session": "session",
        "seq": "seq",
        "part": "0",
        "kind": "'turn'",
        "length": "1",
        "is_cut": "false",
        "words": f"array_to_tsvector(ARRAY[CASE space WHEN {B} THEN '{SECRET}' ELSE 'hello' END])",
    }
    names = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
    known = [str(name) for (name,) in teams.server.execute(names, [f"{teams.schema}.words"])]
    teams.server.execute(
        f"INSERT INTO {teams.schema}.words ({', '.join(known)})"
        f" SELECT {', '.join(columns[name] for name in known)} FROM {teams.schema}.events ON CONFLICT DO NOTHING"
    )


def contents(teams: Teams) -> list[object]:
    theirs = f"(SELECT key FROM sessions WHERE space = {B} AND id = '{THEIRS}')"
    asked = ["spaces", "migrations", f"sessions WHERE key = {theirs}"]
    asked += [f"{table} WHERE session = {theirs}" for table in ROWS if table != "sessions"]
    with teams.server.connect() as connection:
        connection.execute(f"SET search_path = {teams.schema}")
        found = [
            connection.execute(
                one.replace("WHERE", "AS t WHERE").join(("SELECT 1, * FROM ", " ORDER BY 2, 3")).encode()
            )
            for one in asked
        ]
        rows = [cursor.fetchall() for cursor in found]
    assert all(rows)
    return [row for table in rows for row in table]


def changed(connection: psycopg.Connection, statement: str) -> int:
    """How many rows a statement changed or found; 0 also where the role may not run it."""
    try:
        return connection.execute(statement.encode()).rowcount
    except errors.InsufficientPrivilege:
        return 0


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_table_and_no_partition_shows_a_row_of_another_space(alice: psycopg.Connection) -> None:
    for table in (*ROWS, *PARTITIONS):
        assert changed(alice, f"SELECT 1 FROM {table} WHERE space <> {A}") == 0, table
        with alice.cursor().copy(f"COPY (SELECT space FROM {table}) TO STDOUT".encode()) as copy:
            assert {bytes(row) for row in copy} <= {b"1\n"}, table


def test_the_other_space_is_not_even_listed(alice: psycopg.Connection) -> None:
    assert alice.execute("SELECT name FROM spaces ORDER BY number").fetchall() == [("",), ("a",)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT word FROM ts_stat('SELECT words FROM words')",
        "SELECT s::text FROM sessions s UNION ALL SELECT encode(body, 'escape') FROM events",
        "SELECT most_common_vals::text || most_common_elems::text FROM pg_stats",
        "WITH x AS MATERIALIZED (TABLE sessions) SELECT x::text FROM x",
    ],
)
def test_no_function_of_the_server_shows_it(statement: str, teams: Teams, alice: psycopg.Connection) -> None:
    teams.server.execute(f"ANALYZE {teams.schema}.sessions, {teams.schema}.events, {teams.schema}.words")
    shown = str(alice.execute(statement.encode()).fetchall())
    assert SECRET not in shown
    assert THEIRS not in shown


def test_a_function_that_tells_what_it_is_given_is_given_no_row_of_another_space(alice: psycopg.Connection) -> None:
    """The planner may not evaluate a cheap condition of the client before the one of the space."""
    told: list[str] = []
    alice.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    alice.execute(
        "CREATE FUNCTION pg_temp.tell(text) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
    )
    alice.execute("SELECT 1 FROM sessions WHERE pg_temp.tell(id)")
    alice.execute("SELECT 1 FROM events WHERE pg_temp.tell(encode(body, 'escape'))")
    assert "mine" in told
    assert not [text for text in told if SECRET in text or THEIRS in text]


@pytest.mark.parametrize("table", ROWS)
def test_row_security_cannot_be_switched_off(table: str, alice: psycopg.Connection) -> None:
    alice.execute("SET row_security = off")
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        alice.execute(f"TABLE {table}".encode())


def test_a_plan_does_not_depend_on_what_another_space_says(teams: Teams, alice: psycopg.Connection) -> None:
    """What the planner knows of the columns is of all spaces, and EXPLAIN shows it."""
    with teams.server.connect() as owner:
        owner.execute(f"SET search_path = {teams.schema}")
        owner.execute(
            insert_session(B, "said-' || g || '", 0)
            .replace("0, agent, title, tags", "1000 + g, agent, %s, %s")
            .replace("WHERE", ", generate_series(1, 60) g WHERE"),
            [SECRET, [SECRET]],
        )
        owner.execute(
            "INSERT INTO events SELECT space, key, 1, %s || key, 'turn', %s, convert_to(%s || key, 'UTF8')"
            " FROM sessions WHERE key > 1000",
            [SECRET, SECRET, SECRET],
        )
        owner.execute("ANALYZE sessions, events, words")
    try:
        for condition in (
            "sessions WHERE title = '{}'",
            "sessions WHERE title < '{}'",
            "sessions WHERE tags = '{{{}}}'",
            "sessions WHERE '{}' = ANY(tags)",
            "sessions WHERE updated_at < '2026-01-01'",
            "events WHERE branch = '{}'",
            "events WHERE id < '{}5'",
            "events WHERE body < convert_to('{}5', 'UTF8')",
            "words WHERE words @@ '{}'::tsquery",
            "spaces WHERE name < '{}'",
        ):
            plans = [
                alice.execute(f"EXPLAIN SELECT 1 FROM {condition}".format(word).encode()).fetchall()
                for word in (SECRET, "aaaaamerger")
            ]
            assert len({str(plan).replace(SECRET, "aaaaamerger") for plan in plans}) == 1, condition
    finally:
        teams.server.execute(f"DELETE FROM {teams.schema}.events WHERE session > 1000")
        teams.server.execute(f"DELETE FROM {teams.schema}.sessions WHERE key > 1000")


def test_the_planner_keeps_no_sample_of_any_text_or_time(teams: Teams) -> None:
    kept = teams.server.execute(
        "SELECT relname, attname FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid"
        " WHERE relnamespace = %s::regnamespace AND attnum > 0 AND relkind IN ('r', 'p')"
        " AND coalesce(attstattarget, -1) <> 0"
        " AND atttypid NOT IN ('int4'::regtype, 'int8'::regtype, 'bool'::regtype)"
        " AND relname <> 'migrations' AND attname NOT IN ('status', 'kind')",
        [teams.schema],
    )
    assert kept == []


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("table", [*ROWS, "events_0", "words_0"])
def test_no_row_of_another_space_is_changed_moved_locked_or_deleted(table: str, alice: psycopg.Connection) -> None:
    assert changed(alice, f"UPDATE {table} SET space = {A} WHERE space = {B}") == 0
    assert changed(alice, f"UPDATE {table} SET space = space WHERE space <> {A}") == 0
    assert changed(alice, f"DELETE FROM {table} WHERE space <> {A}") == 0
    assert changed(alice, f"SELECT 1 FROM {table} WHERE space <> {A} FOR UPDATE") == 0
    assert changed(alice, f"MERGE INTO {table} t USING (VALUES (1)) v ON t.space <> {A} WHEN MATCHED THEN DELETE") == 0


@pytest.mark.parametrize("table", ROWS)
def test_no_row_is_put_into_another_space(table: str, alice: psycopg.Connection) -> None:
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        alice.execute(f"UPDATE {table} SET space = {B}".encode())
    moved = f"SELECT (jsonb_populate_record(t, '{{\"space\": {B}}}')).* FROM {table} t"
    insert = insert_session(B, "new", 77) if table == "sessions" else f"INSERT INTO {table} {moved}"
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        alice.execute(insert.encode())
    with pytest.raises(errors.FeatureNotSupported), alice.cursor().copy(f"COPY {table} FROM STDIN".encode()):
        pass


def insert_session(space: int, id: str, key: int) -> str:
    columns = (
        "agent, title, tags, status, branch, turn_count, tool, project, folder, git_branch, summary, created_at,"
        " updated_at, recent_at, version, seq"
    )
    return (
        f"INSERT INTO sessions (space, id, key, {columns}) OVERRIDING SYSTEM VALUE"
        f" SELECT {space}, '{id}', {key}, {columns} FROM sessions WHERE id = 'mine'"
    )


def test_whether_a_space_or_a_session_exists_cannot_be_found_out(teams: Teams, alice: psycopg.Connection) -> None:
    told = set()
    for space in (B, 99):
        with pytest.raises(errors.InsufficientPrivilege) as refused:
            alice.execute(insert_session(space, THEIRS, 1).encode())
        told.add(str(refused.value))
    for name in ("b", "nobody"):
        with pytest.raises(NotFoundError) as missing:
            list(teams.store("alice", name).ids())
        told.add(str(missing.value).replace(f"space={name}", "").replace(f"'{name}'", ""))
    assert len(told) == 2


def test_rows_of_one_space_are_never_in_the_way_of_another(teams: Teams, alice: psycopg.Connection) -> None:
    """Every key that team B has or will have is taken by Alice, in her own space."""
    ((key,),) = teams.server.execute(f"SELECT max(key) FROM {teams.schema}.sessions")
    alice.execute(insert_session(A, BUSY, int(str(key))).encode())
    for number in range(1, 9):
        alice.execute(insert_session(A, f"next-{number}", int(str(key)) + number).encode())
    alice.execute(
        "INSERT INTO events SELECT e.space, s.key, e.seq + g, e.id || g, e.kind, e.branch, e.body"
        " FROM events e JOIN sessions m ON m.key = e.session AND m.id = 'mine', sessions s, generate_series(0, 9) g"
        " WHERE s.id <> 'mine' ON CONFLICT DO NOTHING"
    )
    bob = teams.store("bob", "b")
    with bob.create("later", [metadata("later")]) as writer:
        writer.append(turn(1), turn(2))
    with bob.open(BUSY, timeout_seconds=0) as writer:
        writer.append(turn(1))
    assert bob.load(BUSY).turn_count == 1
    assert bob.load("later").turn_count == 2
    assert sorted(bob.ids()) == [BUSY, "later", THEIRS]
    bob.delete("later")
    bob.close()
    alice.execute("DELETE FROM events WHERE session IN (SELECT key FROM sessions WHERE id <> 'mine')")
    alice.execute("DELETE FROM sessions WHERE id <> 'mine'")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE spaces SET role = NULL",
        f"UPDATE spaces SET number = 50 WHERE number = {A}",
        "INSERT INTO spaces VALUES (50, 'mine', current_user)",
        "DELETE FROM spaces",
        "UPDATE migrations SET needed_to_read = 99",
        "INSERT INTO migrations VALUES (99, 'later', 99, 99)",
        "DELETE FROM migrations",
        "SELECT 1 FROM spaces FOR UPDATE",
        "ALTER TABLE sessions DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE sessions NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY members ON sessions",
        "CREATE POLICY mine ON sessions USING (true)",
        "CREATE TABLE spaces_2 ()",
        "CREATE VIEW all_sessions AS TABLE sessions",
        "CREATE FUNCTION pg_has_role(oid, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE RULE more AS ON SELECT TO spaces DO INSTEAD VALUES (2, 'b', NULL)",
        "CREATE TRIGGER told BEFORE INSERT ON sessions EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "TRUNCATE sessions",
        "TRUNCATE events_0",
        "SELECT nextval('sessions_key_seq')",
        "SELECT setval('sessions_key_seq', 9223372036854775807)",
        "ALTER TABLE sessions ALTER key RESTART",
        "CREATE TEMP TABLE probe (space int, key bigint, FOREIGN KEY (space, key) REFERENCES sessions)",
        "CREATE STATISTICS told ON space, title FROM sessions",
        "ALTER TABLE sessions ALTER title SET STATISTICS 100",
        "CREATE INDEX told ON sessions (title)",
        "CLUSTER sessions USING sessions_id",
        "ALTER SCHEMA {schema} OWNER TO current_user",
        "GRANT ALL ON sessions TO current_user",
        "SET ROLE {team_b}",
        "SET SESSION AUTHORIZATION {bob}",
    ],
)
def test_what_a_writer_may_not_do_to_the_tables(statement: str, teams: Teams, alice: psycopg.Connection) -> None:
    text = statement.format(schema=teams.schema, **teams.roles)
    told: list[str] = []
    alice.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    try:
        cursor = alice.execute(text.encode())
    except errors.InsufficientPrivilege:
        return
    except (errors.WrongObjectType, errors.InvalidTableDefinition, errors.FeatureNotSupported):
        return
    assert cursor.rowcount == 0 or told == ['no privileges were granted for "sessions"'], cursor.statusmessage


# ── The store ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_client_that_names_the_number_of_another_space_gets_nowhere(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has all statements of the store, with the keys of a session that it should not know."""
    bob = teams.store("bob", "b")
    row = bob.tables.find(BUSY)
    store = teams.store("alice", "a")
    assert list(store.ids()) == ["mine"]
    monkeypatch.setattr(store.tables, "place", lambda: Place(B, writable=True))
    monkeypatch.setattr(store.tables, "place_to_write", lambda **_: Place(B, writable=True))
    assert [*store.ids(), *store.heads(), *store.revisions(), *store.trash.entries()] == []
    for method in (store.load, store.overview, store.head, store.open, store.delete, store.examine, store.recover):
        with pytest.raises(NotFoundError):
            method(BUSY)
    assert store.owner(BUSY) is None
    assert not store.has_remains(BUSY)
    with pytest.raises(SegueError, match="row-level security"):
        store.create("new", [metadata("new")])
    with pytest.raises(NotFoundError):
        store.trash.put(BUSY)
    statements = store.tables.statements
    with bob.open(BUSY):
        token = bob.tables.find(BUSY).holder.token
        values: dict[str, object] = {
            "token": token,
            "tokens": [token],
            "gone": [token],
            "space": B,
            "key": row.key,
            "keys": [row.key],
        }
        values |= {"id": BUSY, "seq": row.seq, "trash_key": "x", "pid": 1, "host": "x", "process": "x", "version": 9}
        values |= {"lease": 99.0, "after": 0, "upto": 9, "limit": 9, "branch": "main", "skip": 0, "count": 9}
        for name in ("take", "advance_fence", "renew", "release", "put_in_trash", "restore", "page", "end", "tail"):
            assert store.tables.ask(name, getattr(statements, name), **values) == [], name
        assert store.tables.ask("delete", statements.delete, **values | {"trash_key": None}) == []
        assert bob.owner(BUSY) is not None
    store.close()
    bob.close()


def test_the_owner_of_the_tables_sees_all_spaces(teams: Teams) -> None:
    assert list(teams.store("owner", "a").ids()) == ["mine"]
    assert sorted(teams.store("owner", "b").ids()) == [BUSY, THEIRS]
    info = teams.store("owner").administration.describe()
    assert info.sees_all_spaces
    assert [space.name for space in info.spaces] == ["", "a", "b"]


def test_who_must_take_on_a_role_first_is_not_in_its_space_before(teams: Teams) -> None:
    """Such as one who may only administer the role."""
    name = teams.roles["carol"] = f"carol_{teams.schema}"
    teams.server.execute(f"CREATE ROLE {name} LOGIN NOINHERIT IN ROLE {teams.roles['team_b']}, {teams.roles['alice']}")
    teams.server.execute(f"GRANT USAGE ON SCHEMA {teams.schema} TO {name}")
    teams.server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {teams.schema} TO {name}")
    with teams.server.connect(user=name) as connection:
        asked = f"SELECT id FROM {teams.schema}.sessions ORDER BY id".encode()
        assert connection.execute(asked).fetchall() == []
        connection.execute(f"SET ROLE {teams.roles['team_b']}")
        assert connection.execute(asked).fetchall() == [(BUSY,), (THEIRS,)]


def test_a_space_whose_role_is_gone_is_closed_and_the_others_work(
    teams: Teams, postgres_server: PostgresServer
) -> None:
    gone = f"gone_{teams.schema}"
    postgres_server.execute(f'CREATE ROLE "{gone}"')
    teams.store("owner").administration.add_space("c", gone)
    postgres_server.execute(f'DROP ROLE "{gone}"')
    assert list(teams.store("alice", "a").ids()) == ["mine"]
    with pytest.raises(NotFoundError):
        list(teams.store("alice", "c").ids())
    postgres_server.execute(f"DELETE FROM {teams.schema}.spaces WHERE name = 'c'")


def test_the_space_without_a_name_is_common_to_all(teams: Teams) -> None:
    teams.add_session("alice", None, "common", "for everyone")
    assert list(teams.store("bob").ids()) == ["common"]


def test_a_url_with_a_space_creates_no_tables(postgres_server: PostgresServer, teams: Teams) -> None:
    schema = f"{teams.schema}_x"
    store = PostgresStore(postgres_server.url(schema, space="a"))
    assert list(store.ids()) == []
    with pytest.raises(NotFoundError, match="there are no tables yet"):
        store.create("new", [metadata("new")])
    assert postgres_server.execute("SELECT to_regnamespace(%s)", [schema]) == [(None,)]


# ── The function that searches ───────────────────────────────────────────────────────────────────────────────────────


def test_the_function_that_searches_finds_only_in_the_spaces_of_its_caller(
    teams: Teams, alice: psycopg.Connection
) -> None:
    found = "SELECT count(*) FROM find_words({}, (SELECT token FROM spaces WHERE number = {}), '{}', 9)"
    assert alice.execute(found.format(A, A, "hello").encode()).fetchall() != [(0,)]
    for number in (A, B, 0):
        assert alice.execute(found.format(B, number, SECRET).encode()).fetchall() == [(0,)]
    ((token,),) = teams.server.execute(f"SELECT token FROM {teams.schema}.spaces WHERE number = {B}")
    known = f"SELECT count(*) FROM find_words({B}, '{token}', '{SECRET}', 9)".encode()
    assert alice.execute(known).fetchall() == [(0,)], "one who was a member, and has kept the token"
    with teams.server.connect(user=teams.roles["bob"]) as bob:
        bob.execute(f"SET search_path = {teams.schema}")
        assert bob.execute(known).fetchall() != [(0,)]
        bob.execute(f"SET ROLE {teams.roles['team_b']}")
        assert bob.execute(known).fetchall() != [(0,)]


def test_it_finds_nothing_for_a_role_when_a_superuser_maintains_its_tables(teams: Teams) -> None:
    """Then functions of the role run with its rights, although the superuser is who is connected."""
    name, schema = teams.roles["alice"], f"{teams.schema}_alice"
    token = f"(SELECT token FROM {teams.schema}.spaces WHERE number = {B})"
    find = f"{teams.schema}.find_words({B}, {token}, '{SECRET}', 9)"
    teams.server.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {name}")
    try:
        with teams.server.connect(user=name) as alice:
            alice.execute(f"CREATE TABLE {schema}.told (who text, count bigint)")
            alice.execute(f"CREATE TABLE {schema}.bait AS SELECT generate_series(1, 9) AS number")
            alice.execute(
                f"CREATE FUNCTION {schema}.note() RETURNS void LANGUAGE plpgsql AS"
                f" $$ BEGIN INSERT INTO {schema}.told SELECT session_user, count(*) FROM {find}; END $$"
            )
            alice.execute(
                f"CREATE FUNCTION {schema}.look(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS"
                f" $$ BEGIN PERFORM {schema}.note(); RETURN $1; END $$"
            )
            alice.execute(f"CREATE INDEX ON {schema}.bait ({schema}.look(number))")
        teams.server.execute(f"ANALYZE {schema}.bait")
        told = teams.server.execute(f"SELECT DISTINCT who, count FROM {schema}.told ORDER BY who")
        assert told == [(name, 0), ("postgres", 0)]
    finally:
        teams.server.execute(f"DROP SCHEMA {schema} CASCADE")
