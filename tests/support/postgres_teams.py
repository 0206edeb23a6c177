"""Two teams in one database: roles, spaces, and a session of each; as an administrator would set them up."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from segue.stores.postgres import PostgresStore
from segue.testing.events import metadata, turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import PostgresServer

SECRET = "xyzzymerger"  # noqa: S105 - no password
"""A word that only the second team has said."""
_KINDS = ("owner", "team_a", "team_b", "alice", "bob", "reader")


class Teams:
    """Alice and a reader are in team A, Bob is in team B, and the owner of the tables is neither."""

    def __init__(self, server: PostgresServer, schema: str) -> None:
        self.server = server
        self.schema = schema
        self.roles = {kind: f"{kind}_{schema}" for kind in _KINDS}

    def set_up(self) -> None:
        roles = self.roles
        for kind, name in roles.items():
            login = "" if kind.startswith("team") else "LOGIN"
            team = {"alice": "team_a", "reader": "team_a", "bob": "team_b"}.get(kind)
            self.server.execute(f"CREATE ROLE {name} {login} {f'IN ROLE {roles[team]}' if team else ''}")
        # A right on the database would be in the row of the database, which tests at the same moment would change too.
        self.server.execute(f"CREATE SCHEMA {self.schema} AUTHORIZATION {roles['owner']}")
        store = self.store("owner")
        store.administration.create(readers=[roles["reader"]], writers=[roles["team_b"], roles["alice"]])
        store.administration.add_space("a", roles["team_a"])
        store.administration.add_space("b", roles["team_b"])
        store.close()

    def tear_down(self) -> None:
        for name in self.roles.values():
            self.server.execute(f"DROP OWNED BY {name} CASCADE")
            self.server.execute(f"DROP ROLE {name}")

    def url(self, kind: str, space: str | None = None) -> str:
        return self.server.url(self.schema, user=self.roles[kind], space=space)

    def store(self, kind: str, space: str | None = None) -> PostgresStore:
        return PostgresStore(self.url(kind, space))

    def add_session(self, kind: str, space: str | None, session_id: str, *said: str) -> None:
        store = self.store(kind, space)
        turns = [turn(number, text) for number, text in enumerate(said, start=1)]
        with store.create(session_id, [metadata(session_id), *turns]) as writer:
            writer.put_blob(f"{session_id} blob".encode())
        store.close()


@contextmanager
def two_teams(server: PostgresServer, schema: str) -> Iterator[Teams]:
    teams = Teams(server, schema)
    teams.set_up()
    try:
        yield teams
    finally:
        teams.tear_down()
