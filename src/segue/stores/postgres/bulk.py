"""Many sessions at a time: a few statements for hundreds of them. See `segue.bulk`."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from segue.bulk import Digest, StoredBlob
from segue.errors import Damage, DamagedError, SegueError, SessionExistsError
from segue.formats.journal import BadLineError, Checkpoint, decode_line, encode_checkpoint, encode_event
from segue.formats.search_texts import event_texts
from segue.model import Turn, accept_first, total_usage
from segue.model.blobs import needed_blobs
from segue.stores.postgres.bulk_statements import BulkStatements
from segue.stores.postgres.columns import event_columns, listed_columns
from segue.stores.postgres.reading import Records
from segue.stores.postgres.writer import CHECKPOINT_EVERY_BYTES, CHECKPOINT_EVERY_EVENTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from segue.bulk import WholeSession
    from segue.model import Event
    from segue.stores.postgres.driver import TimedConnection
    from segue.stores.postgres.tables import Tables

_STATEMENT_BYTES = 8 << 20
"""How much one statement moves: a share of its memory, and of the time that a statement may take."""
_TIMES = ("created_at", "updated_at", "recent_at")


class PostgresBulk:
    """See segue.bulk.Bulk."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._statements = BulkStatements(tables.address.schema)

    def digests(self, upto: Mapping[str, int | None]) -> dict[str, Digest | SegueError]:
        rows = self._ask("compare sessions", self._statements.digests, ids=list(upto), upto=list(upto.values()))
        return {row[0]: _digest_of(row, upto[row[0]]) for row in rows}

    def read(self, ids: Collection[str]) -> Iterator[tuple[str, list[Event] | SegueError]]:
        rows = self._ask("read sessions", self._statements.read, ids=list(ids))
        for (id, seq), group in groupby(rows, key=lambda row: row[:2]):
            records = Records(id)
            events = records.feed([row[2:] for row in group if row[2] is not None])
            records.finish(seq)
            yield id, DamagedError(id, records.damages) if records.damages else events

    def blobs(self, ids: Collection[str]) -> dict[str, dict[str, StoredBlob]]:
        found: dict[str, dict[str, StoredBlob]] = {}
        for id, name, size, is_whole in self._ask("compare blobs", self._statements.blobs, ids=list(ids)):
            found.setdefault(id, {})[name] = StoredBlob(size, is_whole)
        return found

    def get_blobs(self, names: Mapping[str, Collection[str]]) -> Iterator[tuple[str, str, bytes]]:
        pairs = [(id, name) for id, chosen in names.items() for name in chosen]
        values = {"ids": [id for id, _ in pairs], "names": [name for _, name in pairs]}
        for id, name, data in self._ask("read blobs", self._statements.get_blobs, **values):
            yield id, name, bytes(data)

    def create(self, sessions: Sequence[WholeSession]) -> dict[str, SegueError]:
        """All in one transaction: after a crash either all of them are there, each whole, or none."""
        failed: dict[str, SegueError] = {}
        new: dict[str, _NewSession] = {}
        # In the order of ids, so that two that create the same sessions do not wait for each other.
        for session in sorted(sessions, key=lambda session: session.id):
            try:
                new[session.id] = _NewSession(session)
            except SegueError as error:
                failed[session.id] = error
        space = self._tables.place_to_write(creates=True).space
        doing = f"create {len(new)} sessions" if len(new) > 1 else f"create session {''.join(new)}"
        with self._tables.connections.use(doing) as connection, connection.transaction():
            rows = Jsonb([session.row for session in new.values()])
            created = connection.execute(self._statements.create, {"space": space, "rows": rows}).fetchall()
            keys = {id: key for key, id in created}
            self._insert(connection, space, [(key, new[id]) for id, key in keys.items()])
        return failed | {id: SessionExistsError(id) for id in new if id not in keys}

    def _insert(self, connection: TimedConnection, space: int, sessions: Sequence[tuple[int, _NewSession]]) -> None:
        events = ((key, *row) for key, session in sessions for row in session.events)
        checkpoints = ((key, *session.checkpoint) for key, session in sessions if session.checkpoint)
        blobs = ((key, name, data) for key, session in sessions for name, data in session.blobs.items())
        words = ((key, *row) for key, session in sessions for row in session.words)
        for statement, rows in (
            (self._statements.insert_events, events),
            (self._statements.insert_words, words),
            (self._statements.insert_checkpoints, checkpoints),
            (self._statements.insert_blobs, blobs),
        ):
            for some in _portions(rows):
                columns = {f"column{number}": list(column) for number, column in enumerate(zip(*some, strict=True))}
                connection.execute(statement, {"space": space, **columns}, binary=True)

    def _ask(self, doing: str, statement: str, **values: object) -> list[tuple[Any, ...]]:
        place = self._tables.place()
        return [] if place is None else self._tables.ask(doing, statement, space=place.space, **values)


class _NewSession:
    """The rows of a session that is to be created."""

    def __init__(self, session: WholeSession) -> None:
        from segue.stores.postgres.indexing import word_rows  # imports SQLite

        numbered, _, overview = accept_first(session.id, session.events)
        usage = total_usage(event for event in numbered if isinstance(event, Turn))
        bodies = [encode_event(event) for event in numbered]
        columns = event_columns(numbered, bodies)
        self.events = list(zip(*columns.values(), strict=True))
        self.blobs = session.blobs
        self.words = word_rows(overview.title, overview.summary, (list(event_texts(event)) for event in numbered))
        is_long = sum(map(len, bodies)) >= CHECKPOINT_EVERY_BYTES or len(bodies) >= CHECKPOINT_EVERY_EVENTS
        self.checkpoint = (overview.seq, encode_checkpoint(overview)) if is_long else None
        self.row = {
            "id": session.id,
            **listed_columns(overview, usage),
            "usage": usage.as_json(),
            "created_at": overview.created_at,
            "version": overview.version,
            "seq": overview.seq,
        }
        self.row |= {name: self.row[name].isoformat() for name in _TIMES}  # type: ignore[attr-defined]


def _digest_of(row: tuple[Any, ...], upto: int | None) -> Digest | SegueError:
    id, seq, count, size, digest, attachments = row
    if count != min(seq, seq if upto is None else upto):
        return DamagedError(id, [Damage("its events", "some of them are missing")])
    attached = frozenset(_attached_in(attachments or ()))
    return Digest(count=count, sha256=bytes(digest), size_bytes=size, attached=attached)


def _attached_in(bodies: Iterable[bytes]) -> Iterator[str]:
    for body in bodies:
        with suppress(BadLineError):  # who reads the session is told
            record = decode_line(body.removesuffix(b"\n")).record
            if not isinstance(record, Checkpoint):
                yield from needed_blobs(record)


def _portions(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows for one statement each; the last column decides, since the others are short."""
    some: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        some.append(row)
        size += len(row[-1]) + 100
        if size >= _STATEMENT_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some
