"""Sessions in Postgres are listed and searched inside the database, at the cost of what is shown."""

# ruff: noqa: S608 - the names of schemas are ours

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from msgspec.structs import replace

from segue.index import Index, StoreSource
from segue.library import Library
from segue.model import SummaryWritten
from segue.queries import MOST_COUNTED, Filters
from segue.stores.postgres import PostgresStore, search
from segue.stores.postgres.indexing import index_words
from segue.stores.postgres.query_statements import QueryStatements, conditions
from segue.testing.events import START, metadata, moment, turn
from tests.support.postgres_teams import SECRET, two_teams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.queries import FoundSession
    from tests.support.postgres import PostgresServer
    from tests.support.postgres_teams import Teams

FEW_THOUSAND = 3000


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url)
    yield store
    store.close()


@pytest.fixture
def teams(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[Teams]:
    with two_teams(postgres_server, postgres_schema) as teams:
        teams.add_session("alice", "a", "ours", "hello world")
        teams.add_session("bob", "b", "theirs", f"hello {SECRET}")
        yield teams


def say(store: PostgresStore, session_id: str, *texts: str, title: str = "", minutes: int = 0) -> None:
    begin = replace(metadata(session_id), title=title, created_at=START + timedelta(minutes=minutes))
    turns = [replace(turn(number, text), timestamp=begin.created_at) for number, text in enumerate(texts, 1)]
    store.create(session_id, [begin, *turns]).close()


def found(hits: Sequence[FoundSession]) -> list[tuple[str, str, int]]:
    return [(one.session.head.id, one.kind, one.matches) for one in hits]


def rows_of(server: PostgresServer, schema: str, columns: str, table: str) -> list[Any]:
    return list(server.execute(f"SELECT {columns} FROM {schema}.{table} ORDER BY 1, 2"))


# ── Listing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def many(store: PostgresStore, postgres_server: PostgresServer, postgres_schema: str) -> PostgresStore:
    """A few thousand sessions without events."""
    say(store, "first")
    postgres_server.execute(
        f"""
        INSERT INTO {postgres_schema}.sessions (space, id, agent, title, tags, status, branch, turn_count, tool,
            project, folder, git_branch, summary, created_at, updated_at, recent_at, version, seq, words_due)
        SELECT 0, 'many-' || n || '-' || md5(n::text), 'agent' || n % 50, 'Title ' || n, ARRAY['t' || n % 100],
            'paused', 'main', 1, '', 'p' || n % 100, '/home/u/' || n % 100, '', '', now(), moment,
            date_trunc('minute', moment), 1, 1, false
        FROM generate_series(1, {FEW_THOUSAND}) AS n, LATERAL (SELECT now() + n * interval '7 seconds' AS moment) AS m
        """
    )
    postgres_server.execute(f"ANALYZE {postgres_schema}.sessions")
    return store


@pytest.mark.parametrize(
    "filters",
    [Filters(), Filters(agent="agent7"), Filters(tag="t7"), Filters(status="paused"), Filters(since=START)],
    ids=["all", "agent", "tag", "status", "since"],
)
def test_the_newest_are_listed_by_the_index(
    filters: Filters, many: PostgresStore, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    condition, values = conditions(filters)
    statement = QueryStatements(postgres_schema).page(condition, is_first=True)
    with postgres_server.connect() as connection:
        rows = connection.execute(
            f"EXPLAIN {statement}",
            {**values, "space": 0, "rows": 20},
        ).fetchall()
    plan = "\n".join(line for (line,) in rows)
    assert "Incremental Sort" in plan
    assert "Index Scan using sessions_recent" in plan
    assert "Seq Scan" not in plan
    assert len(list(many.queries.list(filters, 20))) == 20


def test_a_session_is_interrupted_as_soon_as_its_process_is_dead(store: PostgresStore, postgres_url: str) -> None:
    code = """import os, sys, segue
live = segue.open(sys.argv[1]).create(id='killed')
live.add('user', 'hello')
os.kill(os.getpid(), 9)"""
    subprocess.run([sys.executable, "-c", code, postgres_url], check=False)
    queries = store.queries
    assert [one.head.id for one in queries.list(Filters(status="interrupted"))] == ["killed"]
    assert list(queries.list(Filters(status="active"))) == []
    assert (queries.count(Filters(status="interrupted")), queries.count(Filters(status="active"))) == (1, 0)
    assert found(queries.search("hello", Filters(status="interrupted"))) == [("killed", "turn", 1)]
    with store.open("killed"):
        assert [one.head.id for one in queries.list(Filters(status="active"))] == ["killed"]
        assert queries.count(Filters(status="interrupted")) == 0


def test_only_what_is_shown_is_fetched(many: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = _count_rows(many, monkeypatch)
    source = StoreSource(many)
    with Index(None) as index:
        index.refresh([source])
        entries = index.entries(limit=20)
        assert [entry.title for entry in entries] == [f"Title {FEW_THOUSAND - number}" for number in range(20)]
        assert sum(fetched) <= 20 + 2  # one more, to know that it answers
        fetched.clear()
        short = index.short_ids([entry.id for entry in entries[:3]], [source.name])
        assert all(len(part) <= 12 for part in short.values())
        assert sum(fetched) <= 3 * 6 * 8
    fetched.clear()
    library = Library(many)
    assert library.resolve("many-77-").startswith("many-77-")
    assert [head.title for head in library.find("title 1234")] == ["Title 1234"]
    assert library.list(limit=3)[0].title == f"Title {FEW_THOUSAND}"
    assert sum(fetched) < 1000
    assert many.queries.count(Filters(agent="agent7")) == FEW_THOUSAND // 50


def _count_rows(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    fetched: list[int] = []
    ask = store.tables.ask

    def counting(doing: str, statement: str, **values: object) -> list[tuple[Any, ...]]:
        rows = ask(doing, statement, **values)
        fetched.append(len(rows))
        return rows

    monkeypatch.setattr(store.tables, "ask", counting)
    return fetched


# ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_turn_with_more_words_than_postgres_has_room_for_is_found(store: PostgresStore) -> None:
    numbers = random.Random(1)
    text = " ".join(f"{numbers.getrandbits(64):016x}" for _ in range(70_000)) + " needle then haystack"
    say(store, "huge", text, "needle without")
    for query in ("needle haystack", '"needle then"', "need*", f"{text[:16]} haystack", '"then haystack"'):
        assert [one.session.head.id for one in store.queries.search(query, Filters())] == ["huge"], query
    assert found(store.queries.search("needle", Filters())) == [("huge", "turn", 2)]
    assert store.queries.search("needle2 haystack", Filters()) == []
    assert store.queries.count_matches("needle2 haystack", Filters()) == 0
    assert store.queries.search('"haystack needle"', Filters()) == []


def test_of_a_very_common_word_titles_and_the_newest_sessions_are_searched(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_MOST_CANDIDATES": 6, "_WALKED": 2, "_ENOUGH": 3}.items():
        monkeypatch.setattr(search, name, value)
    say(store, "titled", "other words", title="A common title")
    for number in range(1, 10):
        say(store, f"s{number}", "a common word", "common again", minutes=number)
    hits = store.queries.search("common", Filters(), 3)
    assert found(hits) == [("titled", "title", 1), ("s9", "turn", 2), ("s8", "turn", 2)]
    assert store.queries.count_matches("common", Filters()) == MOST_COUNTED
    assert len(store.queries.search("common", Filters(), None)) == 10
    assert found(store.queries.search("common", Filters(ids=("s1",)), 3)) == [("s1", "turn", 2)]


def test_a_rare_word_is_looked_up_in_the_index_and_nothing_else_is_read(
    store: PostgresStore, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    say(store, "rare", "a needle")
    schema = postgres_schema
    postgres_server.execute(
        f"INSERT INTO {schema}.words SELECT 0, 1000 + n / 20, n % 20, 0, 'turn', 3, false,"
        " array_to_tsvector(ARRAY['hay', 'w' || n]) FROM generate_series(1, 20000) AS n"
    )
    postgres_server.execute(f"ANALYZE {schema}.words")
    counts = (
        "SELECT coalesce(sum(seq_scan), 0) + coalesce(sum(idx_scan) FILTER (WHERE relname !~ 'words'), 0),"
        " (SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE schemaname = %(s)s AND indexrelname ~ 'words_idx'),"
        " (SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE schemaname = %(s)s AND indexrelname ~ 'words_.*_pkey')"
        " FROM pg_stat_user_tables WHERE schemaname = %(s)s AND relname ~ '^words_'"
    )
    with postgres_server.connect() as connection:
        connection.autocommit = True

        def count() -> tuple[int, ...]:
            connection.execute("SELECT pg_stat_force_next_flush()")
            return connection.execute(counts, {"s": schema}).fetchone() or ()

        before = count()
        for _ in range(8):  # the first five have a plan of their own in any case
            token = f"(SELECT token FROM {schema}.spaces WHERE number = 0)"
            rows = connection.execute(f"SELECT * FROM {schema}.find_words(0, {token}, 'needle', 5)").fetchall()
            assert len(rows) == 1
        seq_scans, searches, by_key = (int(b - a) for a, b in zip(before, count(), strict=True))
    assert (seq_scans, searches >= 8, by_key) == (0, True, 0)


def test_words_are_added_once_however_many_do_it_at_the_same_time(
    store: PostgresStore, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    say(store, "shared", *(f"turn number {number}" for number in range(120)), title="Shared")
    postgres_server.execute(f"TRUNCATE {postgres_schema}.words")
    postgres_server.execute(f"UPDATE {postgres_schema}.sessions SET words_seq = 0, words_due = true")
    ((key, _),) = rows_of(postgres_server, postgres_schema, "key, space", "sessions")
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(index_words, store.tables, 0, key) for _ in range(8)]:
            done.result()
    words = rows_of(postgres_server, postgres_schema, "seq, part, kind", "words")
    assert words == [(0, 0, "title"), (0, 1, "summary"), *((number, 0, "turn") for number in range(2, 122))]
    assert rows_of(postgres_server, postgres_schema, "words_seq, words_due", "sessions") == [(121, False)]


def test_one_that_comes_late_changes_nothing(
    store: PostgresStore, postgres_server: PostgresServer, postgres_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = store.create("late", [metadata("late"), *(turn(number, f"turn {number}") for number in range(1, 101))])
    ask, calls = store.tables.ask, list[str]()

    def slow(doing: str, statement: str, **values: object) -> list[tuple[Any, ...]]:
        if "AS n (seq, part" in statement:
            calls.append(statement)
            if len(calls) == 1:
                index_words(store.tables, writer.space, writer.key)
        return ask(doing, statement, **values)

    monkeypatch.setattr(store.tables, "ask", slow)
    index_words(store.tables, writer.space, writer.key, pages=1)
    assert len(calls) > 1
    assert rows_of(postgres_server, postgres_schema, "words_seq, words_due", "sessions") == [(101, False)]
    writer.close()


def test_what_is_recorded_while_words_are_added_stays_due(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = store.create("racing", [metadata("racing"), turn(1, "first")])
    ask = store.tables.ask

    def slow(doing: str, statement: str, **values: object) -> list[tuple[Any, ...]]:
        if "AS n (seq, part" in statement and not late:
            late.append(writer.append(turn(2, "second"), SummaryWritten(content="new", timestamp=moment(2), id="s")))
        return ask(doing, statement, **values)

    late: list[object] = []
    monkeypatch.setattr(store.tables, "ask", slow)
    index_words(store.tables, writer.space, writer.key)
    assert late
    assert [one.kind for one in store.queries.search("new", Filters())] == ["summary"]
    assert found(store.queries.search("second", Filters())) == [("racing", "turn", 1)]
    writer.close()
    assert found(store.queries.search("second", Filters())) == [("racing", "turn", 1)]


def test_what_a_killed_writer_left_is_found_by_those_who_only_read_and_indexed_by_others(teams: Teams) -> None:
    server, schema = teams.server, teams.schema
    server.execute(f"TRUNCATE {schema}.words")
    server.execute(f"UPDATE {schema}.sessions SET words_seq = 0, words_due = true")
    reader, alice = teams.store("reader", "a"), teams.store("alice", "a")
    try:
        assert found(reader.queries.search("hello", Filters())) == [("ours", "turn", 1)]
        assert rows_of(server, schema, "seq, part", "words") == []
        assert found(alice.queries.search("hello", Filters())) == [("ours", "turn", 1)]
        assert rows_of(server, schema, "seq, part", "words") == [(0, 0), (0, 1), (2, 0)]
        assert found(reader.queries.search("hello", Filters())) == [("ours", "turn", 1)]
    finally:
        reader.close()
        alice.close()


# ── Spaces ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_search_finds_nothing_of_another_space(teams: Teams) -> None:
    for kind, space, own in (("alice", "a", "ours"), ("reader", "a", "ours"), ("bob", "b", "theirs")):
        store = teams.store(kind, space)
        assert [one.session.head.id for one in store.queries.search("hello", Filters())] == [own]
        assert [one.head.id for one in store.queries.list(Filters())] == [own]
        assert store.queries.near_ids(["ours", "theirs"], 9) == {own}
        assert len(store.queries.search(SECRET, Filters())) == (own == "theirs")
        store.close()


def test_the_index_of_words_is_asked_only_for_the_spaces_of_the_caller(teams: Teams) -> None:
    rows = teams.server.execute(f"SELECT name, number FROM {teams.schema}.spaces")
    numbers = {str(name): number for name, number in rows}
    token = f"(SELECT token FROM {teams.schema}.spaces WHERE number = %s)"
    call = f"SELECT count(*) FROM {teams.schema}.find_words(%s, {token}, '{SECRET}', 9)"

    def ask(connection: psycopg.Connection, space: str = "b") -> object:
        return (connection.execute(call, [numbers[space]] * 2).fetchone() or ("",))[0]

    with teams.server.connect(user=teams.roles["bob"]) as bob:
        assert ask(bob) == 1
    with teams.server.connect(user=teams.roles["owner"]) as owner:
        assert ask(owner) == 1
    with teams.server.connect(user=teams.roles["alice"]) as alice:
        assert ask(alice) == 0
        alice.execute(
            "CREATE TEMPORARY TABLE spaces AS SELECT 1 AS number, NULL::name AS role FROM generate_series(1, 9)"
        )
        alice.execute("CREATE TEMPORARY TABLE words (space integer, words tsvector)")
        alice.execute("SET search_path = pg_temp")
        assert ask(alice) == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            alice.execute(f"SET ROLE {teams.roles['team_b']}")
    with teams.server.connect() as superuser:
        superuser.execute(f"SET ROLE {teams.roles['alice']}")
        assert ask(superuser) == 0
    teams.server.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {teams.schema} FROM {teams.roles['team_b']}")
    with teams.server.connect(user=teams.roles["bob"]) as bob, pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(bob)
