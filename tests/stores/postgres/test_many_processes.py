"""Many processes at once on one database: one writer per session, one that creates the tables."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, cast

import pytest

from segue.stores.postgres import PostgresStore
from segue.testing.conformance.chapter import create_and_close
from tests.promises.test_many_processes import (
    PROCESSES,
    nothing_is_lost_mixed_or_doubled,
    outcomes,
    work_of,
)

if TYPE_CHECKING:
    from tests.support.processes import Crew

ROUNDS = pytest.mark.parametrize("rounds", [8, pytest.param(200, marks=pytest.mark.long)])


def test_of_many_that_begin_an_empty_database_with_the_same_session_one_wins(postgres_url: str, crew: Crew) -> None:
    sessions = [f"same-{number}" for number in range(5)]
    found = outcomes(crew.ask("at_once", work="create_the_same", count=PROCESSES, root=postgres_url, sessions=sessions))
    winners = {id: worker for worker, outcome in enumerate(found) for id in cast("list[str]", outcome["won"])}
    assert sorted(id for outcome in found for id in cast("list[str]", outcome["won"])) == sorted(sessions)
    store = PostgresStore(postgres_url)
    assert sorted(store.ids()) == sorted(sessions)
    for session_id, worker in winners.items():
        assert [turn.id for turn in store.load(session_id).turns] == [f"by-{worker}"]
    store.close()


@ROUNDS
@pytest.mark.parametrize("count", [1, 3])
def test_processes_that_wait_for_one_another_all_get_their_turn(
    postgres_url: str, seed: int, crew: Crew, rounds: int, count: int
) -> None:
    store = PostgresStore(postgres_url)
    sessions = [f"session-{number}" for number in range(count)]
    for session_id in sessions:
        create_and_close(store, session_id=session_id)
    asked = {"work": "write_in_turns", "count": PROCESSES, "root": postgres_url, "sessions": sessions, "seed": seed}
    work = work_of(crew.ask("at_once", **asked, rounds=rounds, timeout=120))
    assert work.refusals == []
    assert sum(map(len, work.acknowledged.values())) == PROCESSES * rounds
    for session_id in sessions:
        nothing_is_lost_mixed_or_doubled(store, session_id, work.acknowledged.get(session_id, []))
    store.close()


@ROUNDS
def test_a_process_that_does_not_wait_learns_which_one_is_writing(
    postgres_url: str, seed: int, crew: Crew, rounds: int
) -> None:
    store = PostgresStore(postgres_url)
    create_and_close(store, session_id="one")
    asked = {"work": "write_in_turns", "count": PROCESSES, "root": postgres_url, "sessions": ["one"], "seed": seed}
    work = work_of(crew.ask("at_once", **asked, rounds=5 * rounds, timeout=0))
    assert work.refusals, "no two processes met: the proof shows nothing"
    nothing_is_lost_mixed_or_doubled(store, "one", work.acknowledged["one"])
    assert {host for _, host, _ in work.refusals} == {socket.gethostname()}
    assert {pid for pid, _, _ in work.refusals} <= work.pids
    assert all(since for _, _, since in work.refusals)
    store.close()
