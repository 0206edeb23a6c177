"""The trash of a store in Postgres: rows that have a key there, and are no sessions until they are put back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segue.clock import utc_now
from segue.errors import NotInTrashError, SessionExistsError
from segue.formats.journal import encode_event
from segue.model import Turn, fold, overview_of, total_usage
from segue.store import Trashed
from segue.stores.postgres.columns import event_columns, head_of_row, listed_columns
from segue.stores.postgres.failures import DuplicateError
from segue.stores.postgres.tables import changed_meanwhile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.model import Event
    from segue.stores.postgres.driver import TimedConnection
    from segue.stores.postgres.statements import Statements
    from segue.stores.postgres.tables import Row, Tables

_STAMP = "%Y%m%dT%H%M%S.%fZ"


class PostgresTrash:
    """See store.Trash."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, session_id: str, *, revision: str | None = None) -> str:
        row = self._tables.find_free(session_id, revision=revision)
        values = self._values(session_id, row)
        trash_key = str(values["trash_key"])
        doing = f"move session {session_id} to the trash"
        if not self._tables.change(doing, self._statements.put_in_trash, [(trash_key,)], **values):
            self._tables.find_free(session_id, revision=row.revision)
            raise changed_meanwhile(session_id)
        return trash_key

    def entries(self) -> Iterator[Trashed]:
        place = self._tables.place()
        if place is None:
            return
        for *row, key, deleted_at, size in self._tables.ask(
            "list the trash", self._statements.trashed, space=place.space
        ):
            yield Trashed(key=key, head=head_of_row(row), deleted_at=deleted_at, size_bytes=size)

    def restore(self, key: str) -> str:
        number, session_id, _ = self._get(key)
        values = {"space": self._tables.place_to_write().space, "key": number, "trash_key": key}
        try:
            is_done = self._tables.change(
                f"restore session {session_id}", self._statements.restore, [(None,)], **values
            )
        except DuplicateError:
            raise SessionExistsError(session_id) from None
        if not is_done:
            raise NotInTrashError(key, self._tables.url)
        return str(session_id)

    def erase(self, key: str) -> None:
        number, _, seq = self._get(key)
        if not self._tables.delete(f"erase {key}", number, seq, trash_key=key):
            raise NotInTrashError(key, self._tables.url)

    def replace(self, session_id: str, row: Row, events: Sequence[Event]) -> str:
        """Move a damaged session to the trash and put these events in its place, in one transaction; its key there."""
        overview = overview_of(fold(events))
        usage = total_usage(event for event in events if isinstance(event, Turn))
        values = self._values(session_id, row)
        created = {
            "id": session_id,
            "created_at": overview.created_at,
            "version": overview.version,
            "seq": overview.seq,
            "lease": 0.0,
            **dict.fromkeys(("token", "pid", "host", "process")),
            **listed_columns(overview, usage),
            **event_columns(events, [encode_event(event) for event in events]),
        }

        def move_and_create(connection: TimedConnection) -> bool:
            """Whether it is done: by this transaction, or by an earlier one whose answer was lost."""
            if connection.execute(self._statements.put_in_trash, values).fetchone():
                connection.execute(self._statements.create, values | created)
                connection.execute(self._statements.copy_blobs, values | {"id": session_id})
                return True
            return connection.execute(self._statements.trash_key, values).fetchone() == (values["trash_key"],)

        if not self._tables.connections.transact(f"recover session {session_id}", move_and_create):
            raise changed_meanwhile(session_id)
        return f"{values['trash_key']} in the trash"

    @property
    def _statements(self) -> Statements:
        return self._tables.statements

    def _values(self, session_id: str, row: Row) -> dict[str, object]:
        stamp = f"{utc_now():{_STAMP}}"
        return {
            "space": self._tables.place_to_write().space,
            "key": row.key,
            "seq": row.seq,
            "gone": row.holder.gone,
            "trash_key": f"{session_id}~{stamp}",
        }

    def _get(self, key: str) -> tuple[Any, ...]:
        place = self._tables.place()
        if place is not None:
            for row in self._tables.ask("look into the trash", self._statements.find_trashed, space=place.space,
                                       trash_key=key):  # fmt: skip
                return row
        raise NotInTrashError(key, self._tables.url)
