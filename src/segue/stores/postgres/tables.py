"""The tables of one store: found or created, asked, and the rows of sessions in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, overload

from segue.errors import ConflictError, SessionLockedError, SessionNotFoundError, StorageError
from segue.ids import check_id
from segue.stores.postgres.connections import Connections
from segue.stores.postgres.failures import MissingRightError, grants_hint
from segue.stores.postgres.lease import Holder
from segue.stores.postgres.migrations import Place, check_no_space, check_writable, create_tables, find_place
from segue.stores.postgres.statements import Statements
from segue.stores.postgres.verification import derived_of_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from segue.stores.postgres.address import Address
    from segue.stores.postgres.verification import Derived

_FIRST_PAGE_ROWS, _MOST_PAGE_ROWS, _PAGE_GROWTH = 256, 4096, 16
_PAGE_BYTES = 4 << 20


class Row(NamedTuple):
    """The row of a session, as `Statements.find` gives it."""

    key: int
    seq: int
    fence: int
    version: int
    holder: Holder

    @property
    def revision(self) -> str:
        return f"{self.key}-{self.seq}"


class Tables:
    """Nothing is opened before the first question, and nothing is created before the first session."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.connections = Connections(address)
        self.statements = Statements(address.schema)
        self._place: Place | None = None

    @property
    def url(self) -> str:
        return self.address.url

    def ask(self, doing: str, statement: str, **values: object) -> list[tuple[Any, ...]]:
        """Run a statement that may be repeated."""
        return self.connections.execute(doing, statement, values, retry=True)

    def place(self) -> Place | None:
        """Where the sessions are; None if nobody has created one yet."""
        place = self._place
        if place is None:
            place = self._place = find_place(self.connections, self.address)
        return place

    def place_to_write(self, *, creates: bool = False) -> Place:
        """The same, looked up again: a newer version may have changed the tables since. They are created if asked."""
        try:
            place = self._place = find_place(self.connections, self.address)
        except MissingRightError as error:
            error.hint = grants_hint(self.address, error.role, is_writing=True)
            raise
        if place is None and creates:
            check_no_space(self.address)
            create_tables(self.connections, self.address)
            place = self.place()
        if place is None:
            raise StorageError(f"{self.url}: the tables were removed", hint="create a session first")
        check_writable(place, self.address)
        return place

    @overload
    def find(self, session_id: str, *, must_exist: Literal[True] = True) -> Row: ...

    @overload
    def find(self, session_id: str, *, must_exist: Literal[False]) -> Row | None: ...

    def find(self, session_id: str, *, must_exist: bool = True) -> Row | None:
        check_id(session_id)
        place = self.place()
        if place is not None:
            doing = f"look for session {session_id}"
            for key, seq, fence, version, *holder in self.ask(
                doing, self.statements.find, space=place.space, id=session_id
            ):
                return Row(key, seq, fence, version, Holder(*holder))
        if must_exist:
            raise SessionNotFoundError(session_id, self.url)
        return None

    def find_derived(self, session_id: str) -> tuple[Row, Derived]:
        """The row of a session, and what in it and beside it follows from the events."""
        place = self.place_of(session_id)
        for key, seq, fence, version, *rest in self.ask(
            f"look for session {session_id}", self.statements.derived, space=place.space, id=session_id
        ):
            return Row(key, seq, fence, version, Holder(*rest[:6])), derived_of_row(rest[6:])
        raise SessionNotFoundError(session_id, self.url)

    def find_free(self, session_id: str, *, revision: str | None = None) -> Row:
        """The row of a session without a writer, as it was when the caller read it."""
        row = self.find(session_id)
        holder = row.holder
        if holder.is_alive:
            raise SessionLockedError(session_id, pid=holder.pid, host=holder.host, since=holder.since)
        if revision is not None and row.revision != revision:
            raise ConflictError(
                f"session {session_id} has changed meanwhile", hint="read it again before you delete it"
            )
        return row

    def delete(
        self, doing: str, key: int, seq: int, holder: Holder | None = None, *, trash_key: str | None = None
    ) -> bool:
        """Delete a session with everything, unless it has changed or somebody writes it; whether it is deleted."""
        gone = holder.gone if holder is not None else []
        values = {"space": self.place_to_write().space, "key": key, "seq": seq, "gone": gone, "trash_key": trash_key}
        return self.change(doing, self.statements.delete, [], **values)

    def change(self, doing: str, statement: str, after: list[tuple[str | None]], **values: object) -> bool:
        """Run a statement that returns the row that it changed; whether the change is made.

        Its answer may be lost, so that it is repeated and finds nothing more to change. Then the row tells: `after` is
        what `Statements.trash_key` returns once the change is made.
        """
        if self.connections.execute(doing, statement, values, retry=True, changes=True):
            return True
        return self.ask(doing, self.statements.trash_key, **values) == after

    def place_of(self, session_id: str) -> Place:
        check_id(session_id)
        place = self.place()
        if place is None:
            raise SessionNotFoundError(session_id, self.url)
        return place

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        place = self.place()
        return [] if place is None else self.ask("list the sessions", statement, space=place.space)

    def pages(self, session_id: str, row: Row, after: int = 0) -> Iterator[list[Any]]:
        """The events of a session up to the last one that the row knows, in pages of moderate size."""
        values = {"space": self.place_of(session_id).space, "key": row.key, "upto": row.seq}
        limit = _FIRST_PAGE_ROWS
        while after < row.seq:
            rows = self.ask(f"read session {session_id}", self.statements.page, **values, after=after, limit=limit)
            if rows:
                yield rows
            if len(rows) < limit:
                return
            after = rows[-1][0]
            size = sum(len(body) for *_, body in rows)
            limit = max(1, min(_PAGE_GROWTH * limit, _MOST_PAGE_ROWS, (_PAGE_BYTES * limit) // (size + 1)))


def changed_meanwhile(session_id: str) -> ConflictError:
    return ConflictError(f"session {session_id} has changed meanwhile", hint="read it again before you delete it")
