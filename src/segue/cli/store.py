"""A store itself: what it is, and what those who run its server do with it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
import msgspec

from segue.cli.trash import format_size
from segue.console import options, output
from segue.console.group import Group
from segue.errors import UsageError
from segue.queries import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.administration import Administration, ServerInfo, TableChanges
    from segue.library import Library
    from segue.store import Store

_SURVIVES = {
    "volatile": "nothing, not even the end of the program",
    "written": "kill -9 of the program",
    "synced": "power loss",
    "replicated": "loss of the machine",
}


def _grants(function: Callable[..., None]) -> Callable[..., None]:
    for right, doing in (("write", "read and write"), ("read", "read")):
        function = click.option(
            f"--grant-{right}",
            "writers" if right == "write" else "readers",
            metavar="ROLE",
            multiple=True,
            type=options.text,
            help=f"Role that may {doing}; can be repeated.",
        )(function)
    return function


_print_sql = click.option("--print-sql", is_flag=True, help="Print the SQL instead of running it.")


@options.verb("segue store info", "segue store info --store postgresql://db.example/sessions --json", name="info")
@options.library
@options.as_json
def info(*, library: Library, as_json: bool) -> None:
    """Show where a store is, what is in it and what you may do.

    Nothing is created or changed.
    """
    store = library.store
    server = store.administration.describe() if store.administration is not None else None
    sessions, size = _count(store, server), store.size_bytes()
    durability = store.capabilities.durability.name.lower()
    if as_json:
        facts = {"url": store.url, "sessions": sessions, "size_bytes": size, "durability": durability}
        output.data(facts | {"server": msgspec.to_builtins(server)})
        return
    rows = [("store", store.url), ("sessions", "unknown: no right to read" if sessions is None else str(sessions))]
    if size is not None:
        rows.append(("size", format_size(size) + (" with indexes, all spaces" if server is not None else "")))
    rows += [("durability", f"{durability}: a turn survives {_SURVIVES[durability]}"), *_server_rows(server)]
    width = max(len(label) for label, _ in rows) + 2
    for label, value in rows:
        output.line(f"{label:<{width}}{value}")


def _count(store: Store, server: ServerInfo | None) -> int | None:
    if server is not None and server.has_tables and not server.can_read:
        return None
    return store.queries.count(Filters()) if store.queries is not None else sum(1 for _ in store.ids())


def _server_rows(server: ServerInfo | None) -> Iterator[tuple[str, str]]:
    if server is None:
        return
    way = "through a pooler" if server.is_pooled else "directly"
    secret = "encrypted" if server.is_encrypted else "not encrypted"
    yield "server", f"{server.server}{' (a standby)' if server.is_standby else ''}, connected {way}, {secret}"
    yield "role", f"{server.role}, which may {_rights(server)}"
    yield "tables", f"{_version(server)} in schema {server.schema}"
    yield "space", server.space or "none: the sessions that all spaces share"
    if named := [f"{space.name} (role {space.role or 'any'})" for space in server.spaces if space.name]:
        yield "spaces", ", ".join(named)


def _rights(server: ServerInfo) -> str:
    if not server.has_tables:
        return "create the tables" if server.can_create else "not create the tables"
    rights = "read and write" if server.can_write else "read" if server.can_read else "not read"
    return f"{rights}, in all spaces" if server.sees_all_spaces else rights


def _version(server: ServerInfo) -> str:
    if not server.has_tables:
        return "none yet"
    if server.version is None:
        return "unknown version"
    newest = "" if server.version == server.newest_version else f" (this program knows {server.newest_version})"
    return f"version {server.version}{newest}"


@options.verb(
    "segue store create --store postgresql://db.example/sessions",
    "segue store create --grant-write alice --grant-read auditor",
    "segue store create --print-sql --grant-write alice > tables.sql",
    name="create",
)
@_grants
@_print_sql
@options.library
@options.as_json
def create(
    *, library: Library, readers: tuple[str, ...], writers: tuple[str, ...], print_sql: bool, as_json: bool
) -> None:
    """Create the tables on the server, and let roles use them.

    The first session creates them too, if its role may. Repeating it changes nothing, except for roles that are new.
    """
    administration = _administration(library, as_json=as_json)
    if administration is None:
        return
    if print_sql:
        output.text(administration.script(readers=readers, writers=writers))
        return
    changes = administration.create(readers=readers, writers=writers)
    _report(changes, as_json=as_json)


@options.verb("segue store upgrade --store postgresql://db.example/sessions", name="upgrade")
@_print_sql
@options.library
@options.as_json
def upgrade(*, library: Library, print_sql: bool, as_json: bool) -> None:
    """Upgrade the tables that an older version created.

    Programs of the older version continue to work where the change allows it; others stop before they write anything.
    """
    administration = _administration(library, as_json=as_json)
    if administration is None:
        return
    found = administration.describe()
    if not found.has_tables:
        raise UsageError(f"{library.store.url} has no tables yet", hint="to create them: segue store create")
    if print_sql and found.version is not None and found.version < found.newest_version:
        output.text(administration.script(after=found.version))
        return
    _report(administration.create(), as_json=as_json)


@options.verb("segue store add-space team-a --role team_a", name="add-space")
@click.argument("name", metavar="NAME", type=options.text)
@click.option("--role", metavar="ROLE", required=True, type=options.text, help="Role whose members may use the space.")
@options.library
@options.as_json
def add_space(*, library: Library, name: str, role: str, as_json: bool) -> None:
    """Add a space: sessions that only the members of a role see.

    Its URL is that of the store with space=NAME. The owner of the tables sees all spaces.
    """
    administration = library.store.administration
    if administration is None:
        raise UsageError(f"{library.store.url} has no spaces", hint="stores on a Postgres server have them")
    is_new = administration.add_space(name, role)
    if as_json:
        output.data({"space": name, "role": role, "added": is_new})
        return
    output.line(f"added space {name} for role {role}" if is_new else f"space {name} for role {role} exists already")
    output.note(f"if the role may not use the tables yet: segue store create --grant-write {shlex.quote(role)}")


command = Group("store", [info, create, upgrade, add_space], help="Inspect a store; create and share its tables.")


def _administration(library: Library, *, as_json: bool) -> Administration | None:
    """None, after a word about it, where there is nothing to do."""
    administration = library.store.administration
    if administration is None:
        if as_json:
            output.data({"before": None, "version": None, "grants": []})
        else:
            output.line(f"nothing to do: {library.store.url} has no tables")
    return administration


def _report(changes: TableChanges, *, as_json: bool) -> None:
    if as_json:
        output.data(msgspec.to_builtins(changes))
        return
    if changes.before is None:
        output.line(f"created the tables, version {changes.version}")
    elif changes.before < changes.version:
        output.line(f"upgraded the tables from version {changes.before} to {changes.version}")
    else:
        output.line(f"the tables are up to date, version {changes.version}")
    output.lines([(f"{grant};",) for grant in changes.grants])
