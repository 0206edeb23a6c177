"""Many processes at once: one writer a session, the others are told who; readers never wait and never fail."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

import segue
from segue.stores.journal import JournalStore
from tests.support.journals import goes_on, metadata
from tests.support.processes import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.store import Owner, Store
    from tests.support.contention import Outcome

PROCESSES = 8
ROUNDS = pytest.mark.parametrize("rounds", [40, pytest.param(1000, marks=pytest.mark.long)])


class Work(NamedTuple):
    """What the processes say they did."""

    pids: set[int]
    acknowledged: dict[str, list[list[str]]]
    """By session: the ids of each append, in the order of each process."""
    refusals: list[tuple[int | None, str | None, str]]


@pytest.fixture
def crew() -> Iterator[Crew]:
    with Crew() as crew:
        yield crew


def outcomes(answer: dict[str, object]) -> list[Outcome]:
    assert answer["statuses"] == [0] * PROCESSES, "a process failed; its traceback is in the captured stderr"
    return cast("list[Outcome]", answer["outcomes"])


def work_of(answer: dict[str, object]) -> Work:
    work = Work(set(), {}, [])
    for outcome in outcomes(answer):
        work.pids.add(cast("int", outcome["pid"]))
        for session_id, ids in cast("list[tuple[str, list[str]]]", outcome["acknowledged"]):
            work.acknowledged.setdefault(session_id, []).append(ids)
        work.refusals.extend(cast("list[tuple[int | None, str | None, str]]", outcome["refusals"]))
    return work


def nothing_is_lost_mixed_or_doubled(store: Store, session_id: str, appends: list[list[str]]) -> None:
    """Every append is there once, its events side by side, and each process finds its own in its own order."""
    found = [event.id for event in store.read(session_id)][1:]
    assert sorted(found) == sorted(id for ids in appends for id in ids)
    places = {id: at for at, id in enumerate(found)}
    for ids in appends:
        assert [places[id] - places[ids[0]] for id in ids] == list(range(len(ids)))
    for worker in {ids[0].partition(".")[0] for ids in appends}:
        own = [places[ids[0]] for ids in appends if ids[0].partition(".")[0] == worker]
        assert own == sorted(own)
    assert [event.seq for event in store.read(session_id)] == list(range(1, len(found) + 2))


@ROUNDS
def test_processes_that_wait_for_one_another_all_get_their_turn(
    tmp_path: Path, seed: int, crew: Crew, rounds: int
) -> None:
    store = JournalStore(str(tmp_path))
    store.create("one", [metadata("one")]).close()
    crew.begin(
        "at_once",
        work="write_in_turns",
        count=PROCESSES,
        root=str(tmp_path),
        sessions=["one"],
        rounds=rounds // 4,
        timeout=120,
        seed=seed,
    )
    readers_see_a_prefix(tmp_path, crew)
    work = work_of(crew.answer())
    assert work.refusals == []
    assert sum(map(len, work.acknowledged.values())) == PROCESSES * (rounds // 4)
    nothing_is_lost_mixed_or_doubled(store, "one", work.acknowledged["one"])
    goes_on(tmp_path, "one")


def readers_see_a_prefix(root: Path, crew: Crew) -> None:
    """Until the writers are done: every way to read gives what was there before, and perhaps more."""
    store = JournalStore(str(root))
    follower = segue.open(f"journal:{root}").follower("one", after=0)
    seen = list(store.read("one"))
    followed: list[int] = []
    while not crew.is_ready():
        followed += [event.seq for event in follower.poll() or ()]
        now = list(store.read("one"))
        assert now[: len(seen)] == seen
        seen = now
        session = store.load("one")
        assert [turn.id for turn in session.turns[: len(seen) - 1]] == [turn.id for turn in seen[1:]]
        last = [turn.seq for turn in store.tail("one", 3)]
        assert not last or last == list(range(last[0], last[0] + len(last)))
        assert [(head.id, head.damage) for head in store.heads()] == [("one", "")]
    assert followed == list(range(1, len(followed) + 1))


@ROUNDS
def test_whoever_does_not_wait_is_told_who_is_writing(tmp_path: Path, seed: int, crew: Crew, rounds: int) -> None:
    store = JournalStore(str(tmp_path))
    store.create("one", [metadata("one")]).close()
    work = work_of(
        crew.ask(
            "at_once",
            work="write_in_turns",
            count=PROCESSES,
            root=str(tmp_path),
            sessions=["one"],
            rounds=rounds,
            timeout=0,
            seed=seed,
        )
    )
    assert work.refusals, "nobody met anybody: the proof shows nothing"
    nothing_is_lost_mixed_or_doubled(store, "one", work.acknowledged["one"])
    hosts = {host for _, host, _ in work.refusals}
    assert hosts == {socket.gethostname()}
    assert {pid for pid, _, _ in work.refusals} <= work.pids
    assert all(since for _, _, since in work.refusals)


@ROUNDS
def test_processes_on_many_sessions_do_not_meet_in_the_wrong_one(
    tmp_path: Path, seed: int, crew: Crew, rounds: int
) -> None:
    store = JournalStore(str(tmp_path))
    sessions = [f"session-{number}" for number in range(5)]
    for session_id in sessions:
        store.create(session_id, [metadata(session_id)]).close()
    work = work_of(
        crew.ask(
            "at_once",
            work="write_in_turns",
            count=PROCESSES,
            root=str(tmp_path),
            sessions=sessions,
            rounds=rounds // 2,
            timeout=120,
            seed=seed,
        )
    )
    assert work.refusals == []
    for session_id in sessions:
        nothing_is_lost_mixed_or_doubled(store, session_id, work.acknowledged.get(session_id, []))


def test_of_many_that_create_the_same_session_one_wins(tmp_path: Path, crew: Crew) -> None:
    sessions = [f"same-{number}" for number in range(25)]
    found = outcomes(
        crew.ask("at_once", work="create_the_same", count=PROCESSES, root=str(tmp_path), sessions=sessions)
    )
    winners = {
        session_id: worker for worker, outcome in enumerate(found) for session_id in cast("list[str]", outcome["won"])
    }
    assert sorted(id for outcome in found for id in cast("list[str]", outcome["won"])) == sorted(sessions)
    store = JournalStore(str(tmp_path))
    for session_id, worker in winners.items():
        assert [turn.id for turn in store.load(session_id).turns] == [f"by-{worker}"]
    assert sorted(store.ids()) == sorted(sessions)


@ROUNDS
def test_asking_who_writes_never_makes_a_writer_fail(tmp_path: Path, seed: int, crew: Crew, rounds: int) -> None:
    store = JournalStore(str(tmp_path))
    store.create("one", [metadata("one")]).close()
    crew.begin(
        "at_once",
        work="write_in_turns",
        count=1,
        root=str(tmp_path),
        sessions=["one"],
        rounds=rounds * 3,
        timeout=0,
        seed=seed,
    )
    asked: list[Owner | None] = []
    while not crew.is_ready():
        asked.append(store.owner("one"))
    answer = crew.answer()
    outcome = cast("list[Outcome]", answer["outcomes"])[0]
    assert outcome["refusals"] == []
    assert len(cast("list[str]", outcome["acknowledged"])) == rounds * 3
    assert {owner.pid for owner in asked if owner is not None} <= {outcome["pid"], None}
    assert os.getpid() not in {owner.pid for owner in asked if owner is not None}
