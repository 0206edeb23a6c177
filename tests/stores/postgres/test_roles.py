"""What roles need: the GRANTs that an error prints are enough, and a role that reads never tries to write."""

# ruff: noqa: S608 - the names in the statements are ours

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from segue.bulk import WholeSession
from segue.errors import NotFoundError, StorageError
from segue.queries import Filters
from segue.stores.postgres import PostgresStore
from segue.testing.events import metadata, status, turn
from tests.support.cli import Segue
from tests.support.postgres_teams import two_teams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer
    from tests.support.postgres_teams import Teams

PREFIX = "an administrator can run: "
WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM|CREATE|GRANT|TRUNCATE|COPY|LOCK|SET|FOR SHARE)\b")


@pytest.fixture
def teams(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[Teams]:
    with two_teams(postgres_server, postgres_schema) as teams:
        teams.add_session("alice", "a", "kept", "hello there", "and good bye")
        yield teams


def newcomer(teams: Teams, name: str) -> PostgresStore:
    """A role of team A that has been granted nothing."""
    teams.roles[name] = f"{name}_{teams.schema}"
    teams.server.execute(f'CREATE ROLE "{teams.roles[name]}" LOGIN IN ROLE {teams.roles["team_a"]}')
    return PostgresStore(teams.url(name, "a"))


def grants_in(refused: Callable[[], object]) -> str:
    with pytest.raises(StorageError) as error:
        refused()
    assert "permission denied" in str(error.value)
    assert error.value.hint.startswith(PREFIX)
    return error.value.hint.removeprefix(PREFIX)


def read_everything(store: PostgresStore) -> None:
    assert store.load("kept").turn_count == 2
    assert [one.content for one in store.tail("kept", 1)] == ["and good bye"]
    assert store.queries is not None
    assert [head.id for head in store.heads()] == [session.head.id for session in store.queries.list(Filters())]
    assert len(store.queries.search("hello", Filters())) == 1
    assert store.examine("kept").damages == ()
    assert list(store.trash.entries()) == []
    (blob,) = store.bulk.blobs(["kept"])["kept"]
    assert store.get_blob("kept", blob) == b"kept blob"


def test_the_grants_that_are_printed_are_enough_to_read(teams: Teams) -> None:
    store = newcomer(teams, "user")
    teams.server.execute(grants_in(lambda: store.load("kept")))
    read_everything(store)
    info = store.administration.describe()
    assert (info.can_read, info.can_write, info.can_create) == (True, False, False)


def test_the_grants_that_are_printed_are_enough_to_write(teams: Teams) -> None:
    store = newcomer(teams, "select")
    teams.server.execute(grants_in(lambda: store.create("new", [metadata("new")])))
    info = store.administration.describe()
    assert (info.can_read, info.can_write, info.can_create) == (True, True, False)
    with store.create("new", [metadata("new")]) as writer:
        writer.append(turn(1), turn(2))
        writer.append(status("completed"))
        writer.put_blob(b"data")
        writer.put_blob(b"data")
    assert store.load("new").turn_count == 2
    store.trash.restore(store.trash.put("new"))
    store.trash.erase(store.trash.put("new"))
    store.create("new", [metadata("new"), *[turn(number) for number in range(1, 600)]]).close()
    with store.open("new") as writer:
        writer.append(*[turn(number, "x" * 200_000) for number in range(600, 610)])
    new = f"(SELECT key FROM {teams.schema}.sessions WHERE id = 'new')"
    teams.server.execute(f"DELETE FROM {teams.schema}.events WHERE seq = 3 AND session = {new}")
    store.recover("new")
    store.delete("new")
    assert list(store.ids()) == ["kept"]


def test_who_reads_is_told_what_writing_needs(teams: Teams) -> None:
    """It is granted what it lacks, and events can still not be changed."""
    store = teams.store("reader", "a")
    read_everything(store)
    whole = WholeSession(id="new", events=[metadata("new")], blobs={})
    writes: list[Callable[[], object]] = [
        lambda: store.create("new", [metadata("new")]),
        lambda: store.delete("kept"),
        lambda: store.trash.put("kept"),
        lambda: store.bulk.create([whole]),
        lambda: store.open("kept"),
    ]
    (grants,) = {grants_in(write) for write in writes}
    teams.server.execute(grants)
    with store.open("kept") as writer:
        writer.append(turn(3))
    asked = "SELECT has_table_privilege(%s, %s, 'UPDATE')"
    assert teams.server.execute(asked, [teams.roles["reader"], f"{teams.schema}.events"]) == [(False,)]


def test_only_the_owner_adds_a_space_or_upgrades_the_tables(teams: Teams) -> None:
    store = teams.store("alice", "a")
    with pytest.raises(StorageError, match="permission denied for table spaces") as refused:
        store.administration.add_space("c", teams.roles["alice"])
    assert refused.value.hint == f'connect as the owner of the schema "{teams.schema}"'
    changes = store.administration.create()
    assert changes.before == changes.version  # nothing is to be upgraded, and nothing was tried


def test_a_role_that_does_not_exist_is_named_before_anything_is_changed(
    postgres_server: PostgresServer, postgres_schema: str
) -> None:
    store = PostgresStore(postgres_server.url(postgres_schema))
    with pytest.raises(NotFoundError, match="there is no role 'nobody'"):
        store.administration.create(writers=["nobody"])
    assert postgres_server.execute("SELECT to_regnamespace(%s)", [postgres_schema]) == [(None,)]


def test_a_role_that_reads_never_tries_to_write(teams: Teams, tmp_path: Path) -> None:
    """All statements that it sends are in the log of the server."""
    role = teams.roles["reader"]
    teams.server.execute(f"ALTER ROLE {role} SET log_statement = 'all'")
    # A writer that was killed: its words are not in the index, and its lease has run out.
    teams.server.execute(
        f"UPDATE {teams.schema}.sessions SET words_due = true, words_seq = 0, lease_until = now(), status = 'active'"
    )
    segue = Segue(tmp_path)
    segue.store = f"{teams.url('reader', 'a')}&application_name={role}"
    for words in (
        ["list"],
        ["show", "kept"],
        ["search", "hello"],
        ["tail", "kept"],
        ["verify"],
        ["export", "kept"],
        ["branches", "kept"],
        ["tree", "kept"],
        ["store", "info"],
        ["convert", "--all", "--to", f"journal:{tmp_path}/copies"],
    ):
        assert segue.call(*words).code == 0, words
    logged = re.split(r"^(?=\d{4}-)", teams.server.log.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sent = [entry for entry in logged if f"] {role} " in entry]
    assert len(sent) > 20
    assert [entry for entry in sent if WRITES.search(re.sub("'[^']*'", "", entry))] == []


def test_who_reads_follows_a_session(teams: Teams, tmp_path: Path) -> None:
    segue = Segue(tmp_path)
    segue.store = teams.url("reader", "a")
    follower = segue.at_terminal("tail", "-f", "kept")
    follower.wait_for("and good bye")
    with teams.store("alice", "a").open("kept") as writer:
        writer.append(turn(3, "a later word"))
    follower.wait_for("a later word")
    follower.process.kill()
    follower.end()


def test_a_writer_uses_tables_that_another_role_created(teams: Teams, tmp_path: Path) -> None:
    segue = Segue(tmp_path)
    segue.store = teams.url("alice", "a")
    for words in (["new", "--id", "mine"], ["add", "mine", "hello"], ["rename", "mine", "A title"], ["delete", "mine"]):
        assert segue.call(*words, *(["--yes"] if words[0] == "delete" else [])).code == 0, words
    assert segue.call("list").text.count("\n") == 1
    info = teams.store("alice", "a").administration.describe()
    assert (info.can_create, info.can_write, info.sees_all_spaces) == (False, True, False)
