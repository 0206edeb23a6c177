"""Bugs planted in the store in Postgres: each is caught by the proof that is there for it.

| bug | caught by |
|---|---|
| an append without the fence and the token | a stopped writer that wakes up |
| an append without the fence | a statement that arrives late, after its error |
| an append without the token | two servers that gave the same fence to two writers |
| a lost answer looked up without advancing the fence | a statement that arrives late, after its error |
| a lost answer repeated without asking | a connection that breaks at any message |
| a heartbeat that renews by key alone | a writer whose session has another one now |
| a heartbeat that renews what was released | a renewal that arrives after the end of its writer |
| a heartbeat that waits for locked rows | a session that is locked by somebody |
| a receipt before the answer | kill -9 at every statement |
| what the server rolled back is not repeated | serializable transactions, and a deadlock |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.errors import SegueError
from segue.stores.postgres import connections
from tests.promises import test_postgres_kill, test_postgres_lease, test_postgres_lost_answers, test_postgres_server
from tests.promises.test_postgres_kill import crew
from tests.promises.test_postgres_lease import other, store, url
from tests.promises.test_postgres_lost_answers import breaks
from tests.support.postgres_bugs import BUGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.stores.postgres.store import PostgresStore
    from tests.support.postgres import PostgresServer
    from tests.support.postgres_breaks import Breaks
    from tests.support.processes import Crew

__all__ = ["breaks", "crew", "other", "store", "url"]

CAUGHT = (AssertionError, SegueError, pytest.fail.Exception)
"""A proof fails by its claim, or by an error that no proof allows. Without the bug, each of them holds."""


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda bug: BUGS[bug](monkeypatch.setattr)


def test_an_append_without_the_fence_is_caught_by_the_writer_that_wakes_up(
    store: PostgresStore, url: str, other: Crew
) -> None:
    other.ask("plant", bug="forget_fence")
    with pytest.raises(CAUGHT):
        test_postgres_lease.test_a_stopped_writer_that_wakes_up_is_told_who_took_over_and_writes_nothing_more(
            store, url, other, "it has written nothing yet"
        )


@pytest.mark.parametrize("bug", ["forget_fence_alone", "ask_without_advancing"])
def test_a_fence_that_is_not_advanced_or_not_checked_is_caught_by_the_late_statement(
    store: PostgresStore, plant: Callable[[str], None], bug: str
) -> None:
    plant(bug)
    with pytest.raises(CAUGHT), pytest.MonkeyPatch.context() as patched:
        test_postgres_lease.test_a_statement_that_arrives_late_is_not_recorded_after_its_error(store, patched)


def test_an_append_without_the_token_is_caught_by_two_servers(
    store: PostgresStore, plant: Callable[[str], None]
) -> None:
    plant("forget_token")
    with pytest.raises(CAUGHT):
        test_postgres_lease.test_two_servers_that_gave_the_same_fence_to_two_writers_let_one_of_them_write(store)


def test_a_repetition_without_a_question_is_caught_by_the_lost_answer(
    store: PostgresStore, breaks: Breaks, plant: Callable[[str], None]
) -> None:
    plant("repeat_without_asking")
    proof = test_postgres_lost_answers.test_an_append_with_a_lost_answer_is_recorded_once_or_its_error_is_true
    with pytest.raises(CAUGHT):
        proof(store, store.url, breaks, "append one", 1)


def test_a_heartbeat_that_renews_by_key_alone_is_caught_by_the_next_writer(
    store: PostgresStore, plant: Callable[[str], None]
) -> None:
    plant("renew_by_key_alone")
    with pytest.raises(CAUGHT):
        test_postgres_lease.test_the_heartbeat_of_a_writer_does_not_renew_the_lease_of_the_next(store)


def test_a_heartbeat_that_renews_what_was_released_is_caught_by_its_late_arrival(
    store: PostgresStore, plant: Callable[[str], None]
) -> None:
    plant("renew_what_was_released")
    with pytest.raises(CAUGHT):
        test_postgres_lease.test_a_renewal_that_arrives_after_the_end_of_its_writer_does_not_lock_the_session(store)


def test_a_heartbeat_that_waits_is_caught_by_the_locked_session(
    postgres_url: str, postgres_server: PostgresServer, store: PostgresStore, plant: Callable[[str], None]
) -> None:
    plant("wait_for_locked_rows")
    impatient = type(store)(f"{postgres_url}&timeout=200ms")
    with pytest.raises(CAUGHT):
        test_postgres_lease.test_one_session_that_is_locked_by_somebody_delays_no_lease_of_another(
            impatient, postgres_server
        )


def test_a_receipt_before_the_answer_is_caught_by_the_kill(store: PostgresStore, crew: Crew) -> None:
    crew.ask("plant", bug="acknowledge_before_the_answer")
    with pytest.raises(CAUGHT):
        test_postgres_kill.test_dying_in_an_append_leaves_all_of_it_or_nothing(store, crew, "append one", "sent")


def test_errors_that_ask_for_a_repetition_are_caught_by_serializable_transactions_and_the_deadlock(
    postgres_url: str, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "RETRIED", frozenset())
    with pytest.raises(CAUGHT):
        test_postgres_server.test_transactions_that_the_server_rolls_back_to_be_repeated_are_repeated(postgres_url)
    with pytest.raises(CAUGHT):
        test_postgres_server.test_an_append_that_the_server_rolls_back_in_a_deadlock_is_recorded_once(
            postgres_url, postgres_server
        )
