"""A session that is deleted or replaced while it is read is not damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from segue.errors import SessionNotFoundError
from segue.stores.postgres.store import PostgresStore
from tests.support.journals import metadata, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url)
    store.create("talk", [metadata("talk"), turn(1), turn(2)]).close()
    yield store
    store.close()


@pytest.fixture
def meanwhile(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen, once, after the row of the session was read and before its events are."""

    def let(happen: Callable[[], object]) -> None:
        ask = store.tables.ask
        events = {store.tables.statements.page, store.tables.statements.tail}

        def asked(doing: str, statement: str, **values: object) -> list[tuple[Any, ...]]:
            if statement in events:
                monkeypatch.setattr(store.tables, "ask", ask)
                happen()
            return ask(doing, statement, **values)

        monkeypatch.setattr(store.tables, "ask", asked)

    return let


READING: dict[str, Callable[[PostgresStore], object]] = {
    "load": lambda store: store.load("talk"),
    "tail": lambda store: store.tail("talk", 2),
    "examine": lambda store: store.examine("talk"),
    "read": lambda store: list(store.read("talk")),
}


@pytest.mark.parametrize("read", READING.values(), ids=READING)
def test_a_session_that_is_deleted_while_it_is_read_is_not_found(
    store: PostgresStore,
    postgres_url: str,
    meanwhile: Callable[[Callable[[], object]], None],
    read: Callable[[PostgresStore], object],
) -> None:
    meanwhile(lambda: PostgresStore(postgres_url).delete("talk"))
    with pytest.raises(SessionNotFoundError):
        read(store)


@pytest.mark.parametrize("name", READING)
def test_a_session_that_is_replaced_while_it_is_read_is_the_new_one_or_not_found(
    store: PostgresStore, postgres_url: str, meanwhile: Callable[[Callable[[], object]], None], name: str
) -> None:
    def replace() -> None:
        other = PostgresStore(postgres_url)
        other.delete("talk")
        other.create("talk", [metadata("talk"), turn(7)]).close()

    meanwhile(replace)
    if name == "read":  # some of the old one may have been returned already
        with pytest.raises(SessionNotFoundError, match="there is another one"):
            READING[name](store)
    else:
        READING[name](store)
    assert [turn.id for turn in store.tail("talk", 2)] == ["t-7"]
