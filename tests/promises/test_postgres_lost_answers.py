"""A connection that breaks at any message: the caller gets the receipt or an error, never a doubled turn or a guess."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import pytest

from segue.errors import StorageError
from segue.stores.journal import JournalStore
from segue.stores.postgres import connections
from segue.stores.postgres.failures import LostAnswerError
from segue.stores.postgres.store import PostgresStore
from segue.transfer.convert import Unconverted
from segue.transfer.convert_many import copy_all
from tests.support.journals import metadata
from tests.support.postgres_breaks import MOMENTS, Breaks, cut
from tests.support.postgres_ledger import check_continues, check_ledger
from tests.support.postgres_operations import (
    FIRST,
    MANY,
    OTHER_BLOB,
    WRITING,
    blob_name,
    damage,
    operate,
    prepare,
    trash_keys,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tests.support.postgres import PostgresServer

MORE_MESSAGES_THAN_NEEDED = 200
LONG = pytest.mark.long
OTHERS = ("create", "open and close", "delete", "put in the trash", "restore", "erase", "recover")


def in_a_row(operations: Iterable[str], *quick: str) -> pytest.MarkDecorator:
    """Each operation with one lost message, and these with six: the question, its repetition and the way there too."""
    pairs = [
        pytest.param(operation, count, marks=() if count == 1 or (operation in quick and count == 6) else LONG)
        for operation in operations
        for count in (1, 2, 3, 5, 6)
    ]
    return pytest.mark.parametrize(("operation", "count"), pairs)


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """The store of those who look, whose connections do not break."""
    store = PostgresStore(postgres_url)
    store.create("other", [metadata("other")]).close()
    yield store
    store.close()


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Breaks]:
    monkeypatch.setattr(connections, "_FIRST_PAUSE_SECONDS", 0.0005)  # nothing gets better by waiting here
    with Breaks(cut) as breaks:
        yield breaks


def each_loss(breaks: Breaks, count: int, *moments: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of a session for each message at which the connection can break, and what arms the break."""
    for moment in moments or MOMENTS:
        for step in itertools.count(1):
            assert step < MORE_MESSAGES_THAN_NEEDED
            yield f"{moment}-{step}-{count}", partial(breaks.arm, step, moment, count=count)
            if not breaks.has_struck:
                assert step > 1, "there was no message to lose"
                break


def failure_of(breaks: Breaks, arm: Callable[[], None], call: Callable[[], object]) -> StorageError | None:
    arm()
    try:
        call()
    except StorageError as error:
        return error
    finally:
        breaks.disarm()
    return None


@in_a_row(WRITING, "append one")
def test_an_append_with_a_lost_answer_is_recorded_once_or_its_error_is_true(
    store: PostgresStore, postgres_url: str, breaks: Breaks, operation: str, count: int
) -> None:
    ids = [] if operation == "put a blob" else [event.id for event in MANY] if operation == "append many" else ["t-90"]
    appends = [ids] if ids else []
    broken = PostgresStore(postgres_url)
    for session_id, arm in each_loss(breaks, count):
        prepare(store, session_id)
        writer = broken.open(session_id)
        error = failure_of(breaks, arm, partial(WRITING[operation], writer))
        writer.close()
        about = f"{session_id}: {error}"
        assert count > 1 or error is None, about
        is_unknown = isinstance(error, LostAnswerError)
        assert error is None or ("may or may not" in error.hint) == is_unknown, about
        if is_unknown:  # the same ids can be appended again
            with store.open(session_id, timeout_seconds=0) as writer:
                WRITING[operation](writer)
        added = check_continues(store, session_id, about=about)
        acknowledged = [] if error and not is_unknown else appends
        check_ledger(store, session_id, [*acknowledged, added], before=FIRST, about=about)
        if operation == "put a blob":
            assert error or store.get_blob(session_id, blob_name(OTHER_BLOB)) == OTHER_BLOB
    broken.close()


@in_a_row(OTHERS, "create")
def test_an_operation_with_a_lost_answer_is_carried_out_once_or_its_error_is_true(
    store: PostgresStore, postgres_server: PostgresServer, breaks: Breaks, operation: str, count: int
) -> None:
    broken = PostgresStore(store.url)
    assert set(broken.ids()) == {"other"}  # an error of the first connection ever is final
    moments = MOMENTS if count > 1 else ("answered",)  # before and inside of a request, it is the same as in an append
    for session_id, arm in each_loss(breaks, count, *moments):
        if operation != "create":
            prepare(store, session_id)
        if operation in ("restore", "erase"):
            store.trash.put(session_id)
        if operation == "recover":
            damage(postgres_server, store, session_id)
        error = failure_of(breaks, arm, partial(operate, broken, operation, session_id, lambda _: None))
        about = f"{session_id}: {error}"
        assert error is None or (count > 1 and isinstance(error, LostAnswerError)), about
        is_there, trashed = session_id in set(store.ids()), bool(trash_keys(store, session_id))
        if is_there and operation in ("create", "open and close"):  # this process knows that nobody has it
            broken.open(session_id, timeout_seconds=0).close()
        if error is None:
            assert (is_there, trashed) == AFTER[operation], about
            continue
        assert (is_there, trashed) in (AFTER[operation], BEFORE[operation]), about
        assert "may or may not" in error.hint, about
    broken.close()


BEFORE = {
    "create": (False, False),
    "open and close": (True, False),
    "delete": (True, False),
    "put in the trash": (True, False),
    "restore": (False, True),
    "erase": (False, True),
    "recover": (True, False),
}
"""Whether the session is in the store, and in the trash."""
AFTER = {
    "create": (True, False),
    "open and close": (True, False),
    "delete": (False, False),
    "put in the trash": (False, True),
    "restore": (True, False),
    "erase": (False, False),
    "recover": (True, True),
}


def test_a_conversion_with_a_lost_answer_is_complete_or_completed_by_calling_it_again(
    store: PostgresStore, breaks: Breaks, tmp_path: Path
) -> None:
    journal, broken = JournalStore(str(tmp_path)), PostgresStore(store.url)
    assert set(broken.ids()) == {"other"}
    for session_id, arm in each_loss(breaks, 1, "answered"):
        ids = [session_id, f"{session_id}-too"]
        for id in ids:
            prepare(journal, id)
        converting = partial(convert_all, journal, broken, ids)
        error = failure_of(breaks, arm, converting)
        assert error is None or isinstance(error, LostAnswerError), f"{session_id}: {error}"
        if error is not None:
            converting()
        for id in ids:
            check_ledger(store, id, [], before=FIRST, about=f"{id}: {error}")
    broken.close()


def convert_all(source: JournalStore, target: PostgresStore, ids: list[str]) -> None:
    for copied in copy_all(source, target, ids):
        if isinstance(copied, Unconverted):
            raise copied.error


def test_the_first_session_is_created_with_its_tables_whichever_answer_is_lost(
    postgres_server: PostgresServer, postgres_schema: str, breaks: Breaks
) -> None:
    for step in range(1, 20, 3):
        store = PostgresStore(postgres_server.url(postgres_schema))
        assert list(store.ids()) == []
        breaks.arm(step, "answered")
        prepare(store, "talk")
        breaks.disarm()
        check_ledger(store, "talk", [], before=FIRST, about=str(step))
        store.close()
        postgres_server.execute(f"DROP SCHEMA {postgres_schema} CASCADE")
